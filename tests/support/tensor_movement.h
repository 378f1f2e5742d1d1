// Movement ops on arrays of anything.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "core/uop/graph.h"
#include "tests/support/strided_copy.h"

namespace kiln::support {

// What a movement node does to an array of shape `in`, with its dims evaluated. Not for RESHAPE,
// which moves nothing.
struct MovementPlan {
  std::vector<int64_t> out;     // Shape of the result.
  std::vector<int64_t> copied;  // Shape of what is copied; the rest of `out` is padding.
  Walk to, from;
};

// `dims`: the values of the dims of the node. Pre: n is a movement that fits `in`, and no RESHAPE.
inline MovementPlan PlanMovement(Ref n, absl::Span<const int64_t> in,
                                 absl::Span<const int64_t> dims) {
  MovementPlan plan{.out = {in.begin(), in.end()}, .copied = {}, .to = {}, .from = {}};
  plan.from.strides = RowMajorStrides(in);
  const size_t rank = in.size();
  switch (n->op) {
    case Op::kExpand:
      for (size_t i = 0; i < rank; ++i) {
        plan.out[i] = dims[i];
        if (in[i] == 1) plan.from.strides[i] = 0;
      }
      break;
    case Op::kPermute:
      for (size_t i = 0; i < rank; ++i) {
        const auto axis = static_cast<size_t>(n->arg.payload().ints[i]);
        plan.out[i] = in[axis];
        plan.from.strides[i] = RowMajorStrides(in)[axis];
      }
      break;
    case Op::kFlip:
      for (size_t i = 0; i < rank; ++i) {
        if ((n->arg.bits() >> i & 1) == 0) continue;
        plan.from.offset += plan.from.strides[i] * (in[i] - 1);
        plan.from.strides[i] = -plan.from.strides[i];
      }
      break;
    case Op::kShrink:
      for (size_t i = 0; i < rank; ++i) {
        plan.out[i] = dims[2 * i + 1] - dims[2 * i];
        plan.from.offset += plan.from.strides[i] * dims[2 * i];
      }
      break;
    default:  // kPad
      for (size_t i = 0; i < rank; ++i) plan.out[i] = in[i] + dims[2 * i] + dims[2 * i + 1];
  }
  plan.copied = n->op == Op::kPad ? std::vector<int64_t>(in.begin(), in.end()) : plan.out;
  plan.to.strides = RowMajorStrides(plan.out);
  if (n->op == Op::kPad) {
    for (size_t i = 0; i < rank; ++i) plan.to.offset += plan.to.strides[i] * dims[2 * i];
  }
  return plan;
}

}  // namespace kiln::support
