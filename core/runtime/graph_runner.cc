#include "core/runtime/graph_runner.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

#include "core/dtype/status.h"
#include "core/runtime/bind.h"

namespace kiln::runtime {
namespace {

// What a run keeps alive until it is over.
struct Held {
  std::shared_ptr<const Plan> plan;
  std::vector<std::shared_ptr<Buffer>> buffers;
};

// How much of its memory a segment overwrites that writes buffer `b` of the plan. A run that writes
// an input fails if the input is not well, and so speaks for the whole of it.
Extent ExtentWritten(const Plan& plan, const Bound& bound, int32_t b) {
  const BufferSlice& slice = bound.slices[b];
  const bool is_all =
      slice.bytes >= slice.buffer->bytes() || plan.buffers[b].kind == PlanBuffer::Kind::kInput;
  return is_all ? Extent::kWhole : Extent::kPart;
}

}  // namespace

absl::Status RunResult::Await() const {
  absl::Status status;
  for (const Dependency& d : done) {
    const absl::Status s = runtime::Await(d);
    if (status.ok()) status = s;
  }
  return status;
}

int64_t RunResult::device_ns() const {
  int64_t ns = 0;
  for (const Dependency& d : done) ns += d.outcome->device_ns;
  for (const std::shared_ptr<const Outcome>& part : parts) ns += part->device_ns;
  return ns;
}

GraphRunner::GraphRunner(std::shared_ptr<const Plan> plan, std::shared_ptr<SubmitState> state)
    : plan_(std::move(plan)), state_(std::move(state)), id_(state_->NextGraph()) {
  for (size_t s = 0; s < plan_->segments.size(); ++s) {
    meters_.push_back(std::make_shared<DeviceTimeMeter>());
  }
}

std::optional<int64_t> GraphRunner::last_device_ns() const {
  std::optional<int64_t> sum;
  for (const std::shared_ptr<DeviceTimeMeter>& meter : meters_) {
    if (const std::optional<int64_t> ns = meter->ns()) sum = sum.value_or(0) + *ns;
  }
  return sum;
}

absl::StatusOr<RunResult> GraphRunner::Run(const RunArgs& args) {
  KILN_ASSIGN_OR_RETURN(Bound bound, Bind(*plan_, args));
  RunResult result;
  result.peak_bytes = bound.output_bytes;
  for (int64_t bytes : plan_->arena_bytes) result.peak_bytes += bytes;
  Stream& stream = args.stream != nullptr ? *args.stream : state_->default_stream();
  const bool is_held = args.run_here_if_idle && plan_->segments.size() == 1;
  Queue* queue = nullptr;
  {
    absl::MutexLock lock(&stream.mu());
    KILN_ASSIGN_OR_RETURN(Recording * recording, stream.RecordingOf(id_, *plan_, meters_));
    recording->Patch(*plan_, bound);
    if (is_held) queue = &stream.QueueOn(*plan_->devices[plan_->segments[0].device]);
    absl::MutexLock submit_lock(&state_->mu());
    result.outputs = std::move(bound.outputs);
    const SubmitMode mode = is_held ? SubmitMode::kHeld : SubmitMode::kQueued;
    Submit(stream, *recording, std::move(bound), mode, result);
  }
  if (is_held) queue->RunHere(result.done[0].point);
  return result;
}

void GraphRunner::Submit(Stream& stream, Recording& recording, Bound bound, SubmitMode mode,
                         RunResult& result) {
  // Also kept by this thread until hazards are recorded.
  const auto held = std::make_shared<Held>(Held{plan_, std::move(bound.owners)});
  for (const std::shared_ptr<Buffer>& arena : recording.arenas()) {
    if (arena != nullptr) held->buffers.push_back(arena);
  }
  const size_t num_segments = plan_->segments.size();
  absl::InlinedVector<Dependency, 1> over(num_segments);  // By segment.
  absl::InlinedVector<int32_t, 2> last(plan_->devices.size(), -1);
  std::vector<Dependency> wait;
  std::vector<Point> points;
  for (size_t s = 0; s < num_segments; ++s) {
    const PlanSegment& segment = plan_->segments[s];
    wait.clear();
    for (int32_t w : segment.waits) wait.push_back(over[w]);
    for (int32_t b : segment.reads) bound.slices[b].buffer->hazards().AppendBeforeRead(wait);
    for (int32_t b : segment.writes) {
      Hazards& hazards = bound.slices[b].buffer->hazards();
      hazards.AppendBeforeWrite(wait, ExtentWritten(*plan_, bound, b));
      // The rest of an input stays as it is, perhaps: what was wrong with it still is.
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
    Queue& queue = stream.QueueOn(*plan_->devices[segment.device]);
    points.push_back(queue.Submit(wait, recording.list(s), outcome, mode));
    over[s] = {points.back(), std::move(outcome)};
    last[segment.device] = static_cast<int32_t>(s);
    for (int32_t b : segment.writes) {
      bound.slices[b].buffer->hazards().SetWrite(over[s], ExtentWritten(*plan_, bound, b));
    }
    for (int32_t b : segment.reads) bound.slices[b].buffer->hazards().AddRead(over[s].point);
  }
  for (size_t d = 0; d < last.size(); ++d) {
    if (last[d] < 0) continue;
    result.done.push_back(over[last[d]]);
    if (const auto& arena = recording.arenas()[d]) {
      arena->hazards().SetWrite({over[last[d]].point, nullptr});
    }
  }
  for (int32_t s = 0; s < static_cast<int32_t>(num_segments); ++s) {
    const PlanSegment& segment = plan_->segments[s];
    if (last[segment.device] != s) result.parts.push_back(over[s].outcome);
    for (int32_t d : segment.foreign_arenas) {
      recording.arenas()[d]->hazards().AddRead(over[s].point);
    }
  }
  recording.SetPoints(std::move(points));
}

}  // namespace kiln::runtime
