#include "core/runtime/recording.h"

#include <algorithm>
#include <utility>

namespace kiln::runtime {

Recording::Recording(const Plan& plan, const PlanMeters& meters,
                     std::vector<std::shared_ptr<Buffer>> arenas)
    : arenas_(std::move(arenas)),
      buffer_places_(plan.buffers.size()),
      variable_places_(plan.variables.size()),
      slices_(plan.buffers.size()),
      variables_(plan.variables.size(), 0) {
  for (int32_t s = 0; s < static_cast<int32_t>(plan.segments.size()); ++s) {
    lists_.push_back(std::make_shared<CommandList>());
    lists_.back()->SetMeter(meters[s]);
    for (int32_t i : plan.segments[s].items) {
      if (const auto* launch = std::get_if<PlanLaunch>(&plan.items[i])) {
        AddLaunch(plan, s, *launch);
      } else {
        AddCopy(plan, s, i);
      }
    }
  }
}

BufferSlice Recording::SliceOf(const Plan& plan, int32_t buffer) const {
  const PlanBuffer& b = plan.buffers[buffer];
  if (b.kind != PlanBuffer::Kind::kTemporary) return {};  // Patched in.
  return {arenas_[b.device].get(), b.offset, b.bytes};
}

void Recording::AddLaunch(const Plan& plan, int32_t segment, const PlanLaunch& launch) {
  std::vector<BufferSlice> slices;
  for (int32_t b : launch.buffers) slices.push_back(SliceOf(plan, b));
  const std::vector<int64_t> values(launch.variables.size(), 0);
  const ExecCommand exec = lists_[segment]->Exec(*launch.executable, slices, values);
  for (uint32_t i = 0; i < launch.buffers.size(); ++i) {
    const int32_t b = launch.buffers[i];
    if (plan.buffers[b].kind == PlanBuffer::Kind::kTemporary) continue;
    buffer_places_[b].push_back({segment, exec.first_buffer + i});
  }
  for (uint32_t i = 0; i < launch.variables.size(); ++i) {
    variable_places_[launch.variables[i]].push_back({segment, exec.first_variable + i});
  }
}

void Recording::AddCopy(const Plan& plan, int32_t segment, int32_t item) {
  const auto& copy = std::get<PlanCopy>(plan.items[item]);
  const CopyCommand command =
      lists_[segment]->Copy(SliceOf(plan, copy.to), SliceOf(plan, copy.from));
  copies_.push_back({segment, item, command});
}

bool Recording::is_free() const {
  return std::all_of(points_.begin(), points_.end(), [](const Point& p) { return p.passed(); });
}

void Recording::Patch(const Plan& plan, const Bound& bound) {
  for (size_t b = 0; b < slices_.size(); ++b) {
    if (plan.buffers[b].kind == PlanBuffer::Kind::kTemporary || slices_[b] == bound.slices[b]) {
      continue;
    }
    slices_[b] = bound.slices[b];
    for (const Place& p : buffer_places_[b]) lists_[p.segment]->SetBuffer(p.index, slices_[b]);
  }
  for (size_t v = 0; v < variables_.size(); ++v) {
    if (variables_[v] == bound.variables[v]) continue;
    variables_[v] = bound.variables[v];
    for (const Place& p : variable_places_[v]) {
      lists_[p.segment]->SetVariable(p.index, variables_[v]);
    }
  }
  for (const CopyPlace& c : copies_) {
    const auto& copy = std::get<PlanCopy>(plan.items[c.item]);
    const int64_t bytes = ValueOf(copy.elems, bound.scalars) * copy.elem_bytes;
    const auto set = [&](uint32_t index, int32_t b) {
      const bool placed = plan.buffers[b].kind == PlanBuffer::Kind::kTemporary;
      BufferSlice slice = placed ? SliceOf(plan, b) : slices_[b];
      slice.bytes = std::min(slice.bytes, bytes);
      lists_[c.segment]->SetBuffer(index, slice);
    };
    set(c.command.to, copy.to);
    set(c.command.from, copy.from);
  }
}

}  // namespace kiln::runtime
