// Movement ops as functions on index expressions: where in its base a chain of reshapes, permutes,
// expands, pads, shrinks and flips reads an element from. There are no view objects; the symbolic
// engine does what merging views did.
//
//   // base [2, 3] padded to [3, 3]: element (r0, r1) is base[r0*3 + r1] if r0 < 2, else zero.
//   const std::vector<Ref> base = Dims(g, {2, 3});
//   const std::vector<Movement> chain = {Movement::Pad(Dims(g, {0, 1, 0, 0}))};
//   KILN_ASSIGN_OR_RETURN(CheckedShape out, ShapeAfter(g, base, chain));
//   KILN_ASSIGN_OR_RETURN(Access a, AccessOf(g, base, chain, RangesOver(g, out.dims)));
//   KILN_ASSIGN_OR_RETURN(a, SimplifyAccess(g, a));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::tensor {

// The most axes of a tensor: what ReduceArg can name.
inline constexpr int kMaxRank = 32;

// One step of a chain: a movement node without its source. Dims are index-dtype nodes and may be
// symbolic.
struct Movement {
  Op op;
  // kReshape, kExpand: the new shape. kPad: before, after of each axis. kShrink: begin, end of each
  // axis. Else empty.
  std::vector<Ref> dims;
  std::vector<int64_t> order;  // kPermute: output axis i is input axis order[i].
  uint64_t flipped = 0;        // kFlip: bit i set: axis i is reversed.

  static Movement Reshape(std::vector<Ref> shape) { return {Op::kReshape, std::move(shape), {}}; }
  static Movement Expand(std::vector<Ref> shape) { return {Op::kExpand, std::move(shape), {}}; }
  static Movement Permute(std::vector<int64_t> order) {
    return {Op::kPermute, {}, std::move(order)};
  }
  static Movement Pad(std::vector<Ref> pairs) { return {Op::kPad, std::move(pairs), {}}; }
  static Movement Shrink(std::vector<Ref> pairs) { return {Op::kShrink, std::move(pairs), {}}; }
  static Movement Flip(uint64_t axes) { return {Op::kFlip, {}, {}, axes}; }
};

// Constant dims.
std::vector<Ref> Dims(Graph& g, absl::Span<const int64_t> sizes);

// ** movement nodes **

// `x` moved by one step. Pre: ShapeAfter accepts the step.
Ref Apply(Graph& g, Ref x, const Movement& step);

// Pre: IsMovement(n->op).
Movement StepOf(Ref n);

// The movement nodes from `n` down to the first other node, which is `base`; steps in the order in
// which they apply.
struct MovementChain {
  Ref base;
  std::vector<Movement> steps;
};
MovementChain ChainOf(Ref n);

// ** shapes **

struct CheckedShape {
  std::vector<Ref> dims;  // Simplified.
  // What the variables must satisfy for the step to be right; empty if it always is. A run
  // evaluates these first.
  std::vector<Ref> conditions;
};

// The shape that steps make of `shape`. InvalidArgument names the step and its numbers if it is
// wrong for all values of the variables, or for the values that BIND gives them: a reshape to
// another number of elements, an expand of an axis that is not 1, a shrink outside the axis, a
// negative size, wrong numbers of axes, an element count beyond int64.
absl::StatusOr<CheckedShape> ShapeAfter(Graph& g, absl::Span<const Ref> shape,
                                        const Movement& step);
absl::StatusOr<CheckedShape> ShapeAfter(Graph& g, absl::Span<const Ref> shape,
                                        absl::Span<const Movement> chain);
// The shapes that a chain goes through: that of its base, and that after each step.
absl::StatusOr<std::vector<CheckedShape>> ShapesAlong(Graph& g, absl::Span<const Ref> base,
                                                      absl::Span<const Movement> chain);

// ** index expressions **

// An element of a tensor: an index per axis, which means something only where `valid`, a bool node,
// holds.
struct Place {
  std::vector<Ref> index;
  Ref valid;
};

// From an element of what `step` makes of a tensor with shape `in` to that element in the tensor.
// Nothing is simplified beyond constants. Pre: ShapeAfter accepts the step; place.index has one
// index, within bounds, per axis of its result.
absl::StatusOr<Place> StepBack(Graph& g, absl::Span<const Ref> in, const Movement& step,
                               const Place& place);

// The same for a reshape from `in` to `out`. Axes are matched, split and merged where sizes factor,
// also symbolic ones, so that divisions appear on single axes only; what does not factor goes
// through the row-major position.
// Errors: those of symbolic::Simplify; InvalidArgument if an element count leaves int64.
absl::StatusOr<std::vector<Ref>> ReshapeBack(Graph& g, absl::Span<const Ref> in,
                                             absl::Span<const Ref> out,
                                             absl::Span<const Ref> index);

// A position in the row-major base, which means something only where `valid`, a bool node, holds;
// elsewhere there is padding.
struct Access {
  Ref index;
  Ref valid;
};

// The row-major position of `index` in a tensor of shape `shape`; what earlier reshapes took apart
// is put together again. Errors: those of ReshapeBack.
absl::StatusOr<Ref> RowMajor(Graph& g, absl::Span<const Ref> shape, absl::Span<const Ref> index);

// The number of elements.
Ref ElementCount(Graph& g, absl::Span<const Ref> shape);

// Where a chain over a contiguous tensor of shape `base` finds element `index` of its result. Not
// simplified. Errors: those of ShapeAfter; InvalidArgument if `index` has not one expression per
// axis of the result.
absl::StatusOr<Access> AccessOf(Graph& g, absl::Span<const Ref> base,
                                absl::Span<const Movement> chain, absl::Span<const Ref> index);

// A RANGE over each dim, with the axis as its id; the constant 0 where the dim is the constant 1
// (or 0: no element).
std::vector<Ref> RangesOver(Graph& g, absl::Span<const Ref> shape, AxisType type = AxisType::kLoop);

// The same access, simplified: the validity as a conjunction, the index given that it holds. Index
// 0 if it never does. Errors: those of symbolic::Simplify.
absl::StatusOr<Access> SimplifyAccess(Graph& g, Access access);

}  // namespace kiln::tensor
