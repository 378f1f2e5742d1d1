#include "core/runtime/graph_runner.h"

#include <algorithm>
#include <utility>

#include "core/dtype/status.h"
#include "core/runtime/bind.h"

namespace kiln::runtime {
namespace {

// Recordings that are kept for runs that overlap.
constexpr size_t kMaxRecordings = 8;

// What a run keeps alive until it is over.
struct Held {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<Buffer>> buffers;
};

}  // namespace

absl::Status RunResult::Await() const {
  absl::Status status;
  for (const Dependency& d : done) {
    const absl::Status s = runtime::Await(d);
    if (status.ok()) status = s;
  }
  return status;
}

absl::StatusOr<RunResult> GraphRunner::Run(const RunArgs& args) {
  KILN_ASSIGN_OR_RETURN(Bound bound, Bind(*plan_, args));
  RunResult result;
  result.peak_bytes = bound.output_bytes;
  for (int64_t bytes : plan_->arena_bytes) result.peak_bytes += bytes;
  {
    absl::MutexLock lock(&state_->mu());
    KILN_ASSIGN_OR_RETURN(Recording * recording, FreeRecording());
    recording->Patch(*plan_, bound);
    Submit(*recording, bound, result);
  }
  result.outputs = std::move(bound.outputs);
  return result;
}

absl::StatusOr<Recording*> GraphRunner::FreeRecording() {
  std::vector<std::shared_ptr<Buffer>> arenas(plan_->devices.size());
  for (size_t d = 0; d < arenas.size(); ++d) {
    if (plan_->arena_bytes[d] == 0) continue;
    KILN_ASSIGN_OR_RETURN(arenas[d], state_->Arena(*plan_->devices[d], plan_->arena_bytes[d]));
  }
  const auto fits = [&](const std::unique_ptr<Recording>& r) {
    return std::equal(arenas.begin(), arenas.end(), r->arenas().begin());
  };
  std::erase_if(recordings_, [&](const auto& r) { return !fits(r); });
  for (const std::unique_ptr<Recording>& r : recordings_) {
    if (r->is_free()) return r.get();
  }
  // The oldest goes, if there are too many: its lists live on until its run is over.
  if (recordings_.size() >= kMaxRecordings) recordings_.erase(recordings_.begin());
  recordings_.push_back(std::make_unique<Recording>(*plan_, std::move(arenas)));
  return recordings_.back().get();
}

void GraphRunner::Submit(Recording& recording, const Bound& bound, RunResult& result) {
  const auto held = std::make_shared<Held>(Held{plan_, bound.owners});
  for (const std::shared_ptr<Buffer>& arena : recording.arenas()) {
    if (arena != nullptr) held->buffers.push_back(arena);
  }
  const size_t num_segments = plan_->segments.size();
  std::vector<Dependency> over(num_segments);  // By segment.
  std::vector<int32_t> last(plan_->devices.size(), -1);
  std::vector<Dependency> wait;
  std::vector<Point> points;
  for (size_t s = 0; s < num_segments; ++s) {
    const PlanSegment& segment = plan_->segments[s];
    wait.clear();
    for (int32_t w : segment.waits) wait.push_back(over[w]);
    for (int32_t b : segment.reads) bound.slices[b].buffer->hazards().AppendBeforeRead(wait);
    for (int32_t b : segment.writes) {
      Hazards& hazards = bound.slices[b].buffer->hazards();
      hazards.AppendBeforeWrite(wait);
      // An input is written in part, perhaps: what was wrong with it still is.
      if (plan_->buffers[b].kind == PlanBuffer::Kind::kInput) hazards.AppendBeforeRead(wait);
    }
    if (const auto& arena = recording.arenas()[segment.device]; arena && last[segment.device] < 0) {
      arena->hazards().AppendBeforeWrite(wait);
    }
    for (int32_t d : segment.foreign_arenas) {
      if (last[d] < 0) recording.arenas()[d]->hazards().AppendBeforeWrite(wait);
    }
    auto outcome = std::make_shared<Outcome>();
    recording.list(s)->Retain(held);
    Queue& queue = plan_->devices[segment.device]->queue(QueueKind::kCompute);
    points.push_back(queue.Submit(wait, recording.list(s), outcome));
    over[s] = {points.back(), std::move(outcome)};
    last[segment.device] = static_cast<int32_t>(s);
    for (int32_t b : segment.writes) bound.slices[b].buffer->hazards().SetWrite(over[s]);
    for (int32_t b : segment.reads) bound.slices[b].buffer->hazards().AddRead(over[s].point);
  }
  for (size_t d = 0; d < last.size(); ++d) {
    if (last[d] < 0) continue;
    result.done.push_back(over[last[d]]);
    if (const auto& arena = recording.arenas()[d]) {
      arena->hazards().SetWrite({over[last[d]].point, nullptr});
    }
  }
  for (size_t s = 0; s < num_segments; ++s) {
    for (int32_t d : plan_->segments[s].foreign_arenas) {
      recording.arenas()[d]->hazards().AddRead(over[s].point);
    }
  }
  recording.SetPoints(std::move(points));
}

}  // namespace kiln::runtime
