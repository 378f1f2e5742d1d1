#include "backends/llvm/lanes.h"

#include "absl/strings/str_cat.h"

#include "core/dtype/check.h"

namespace kiln::backend_llvm {

absl::StatusOr<Lanes> Lanes::Of(const codegen::Program& program) {
  Lanes lanes;
  int64_t total = 1;
  const auto add = [&](Ref range) {
    if (range == lanes.vector_) return absl::OkStatus();
    for (const Axis& axis : lanes.axes_) {
      if (axis.range == range) return absl::OkStatus();
    }
    const int64_t size = IsIntConst(range->src(0)) ? range->src(0)->IntValue() : 0;
    total = size <= 0 || size > codegen::kMaxLanes ? codegen::kMaxLanes + 1 : total * size;
    if (total > codegen::kMaxLanes || lanes.axes_.size() == 31) {
      return absl::UnimplementedError(
          absl::StrCat("program ", program.name, " has more than ", codegen::kMaxLanes, " lanes"));
    }
    if (range->arg.range().axis_id == program.vector_axis) {
      lanes.vector_ = range;
      lanes.width_ = static_cast<int>(size);
    } else {
      lanes.axes_.push_back({range, static_cast<int>(size)});
    }
    return absl::OkStatus();
  };
  for (Ref n : program.linear->src()) {
    for (Ref s : n->src()) {
      if (!codegen::IsLane(s)) continue;
      if (absl::Status status = add(s); !status.ok()) return status;
    }
  }
  return lanes;
}

LaneShape Lanes::ShapeOf(Ref range) const {
  if (range == vector_) return {0, true};
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].range == range) return {uint32_t{1} << i, false};
  }
  KILN_CHECK(false);  // Of() has seen every range.
}

int Lanes::Count(uint32_t axes) const {
  int count = 1;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if ((axes >> i & 1) != 0) count *= axes_[i].size;
  }
  return count;
}

int Lanes::Digit(int combination, uint32_t axes, int axis) const {
  for (int i = num_axes() - 1; i > axis; --i) {
    if ((axes >> i & 1) != 0) combination /= axes_[static_cast<size_t>(i)].size;
  }
  return combination % axes_[static_cast<size_t>(axis)].size;
}

int Lanes::Project(int combination, uint32_t axes, uint32_t onto) const {
  if (axes == onto) return combination;
  int result = 0, place = 1;
  for (int i = num_axes() - 1; i >= 0; --i) {
    if ((axes >> i & 1) == 0) continue;
    const int size = axes_[static_cast<size_t>(i)].size;
    if ((onto >> i & 1) != 0) {
      result += combination % size * place;
      place *= size;
    }
    combination /= size;
  }
  return result;
}

}  // namespace kiln::backend_llvm
