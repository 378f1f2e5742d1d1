// Gradients of movement and of reductions.
#include <vector>

#include "core/dtype/status.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/gradient/rules.h"
#include "core/tensor/index_math.h"

namespace kiln::tensor::internal {
namespace {

using Shape = absl::Span<const Ref>;

// The axes along which an EXPAND repeats.
uint32_t RepeatedAxes(Shape from, Shape to) {
  uint32_t axes = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) axes |= uint32_t{1} << i;
  }
  return axes;
}

std::vector<int64_t> Inverse(absl::Span<const int64_t> order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

// What undoes a PAD: [before, before + size) of each axis; and a SHRINK: begin, size - end.
absl::StatusOr<Movement> Undone(Graph& g, Ref v, Shape size) {
  Movement step{.op = v->Is(Op::kPad) ? Op::kShrink : Op::kPad, .dims = {}, .order = {}};
  for (size_t i = 0; i < size.size(); ++i) {
    Ref first = v->src(static_cast<int>(2 * i + 1)), second = v->src(static_cast<int>(2 * i + 2));
    Ref to = v->Is(Op::kPad) ? Plus(g, first, size[i]) : Minus(g, size[i], second);
    if (!to->IsConst()) {
      KILN_ASSIGN_OR_RETURN(to, symbolic::Simplify(g, to));
    }
    step.dims.push_back(first);
    step.dims.push_back(to);
  }
  return step;
}

// To each of the largest an equal share.
Ref MaxGradient(Terms& t, Ref v, Ref d) {
  Ref x = v->src(0);
  const Shape shape = t.Shape(x);
  const DType wide = AccumulatorOf(v->dtype);
  // A NaN among them makes all equal: there is always one to share among.
  Ref is_less = t.Binary(Op::kCmpLt, x, t.Expand(v, shape));
  Ref one = t.Where(is_less, t.Uniform(wide, 0, shape), t.Uniform(wide, 1, shape));
  Ref count = t.Reduce(Op::kAdd, one, v->arg.reduce().axes);
  Ref share = t.Cast(t.Binary(Op::kFDiv, t.Cast(d, wide), count), v->dtype);
  return t.Where(is_less, t.Zeros(x), t.Expand(share, shape));
}

// The product of the others, which is (product of what is not zero) / x where no other is zero.
// Where one other, z, is zero, it is z times such a product: 0, but it matters to the next gradient.
// So the zeros are counted by a sum of z + 1, whose value is the count and which moves with z.
// Exact up to second derivatives, and beyond where at most one of the others is zero.
Ref ProductGradient(Terms& t, Ref v, Ref d) {
  const DType wide = AccumulatorOf(v->dtype);
  const uint32_t axes = v->arg.reduce().axes;
  Ref x = t.Cast(v->src(0), wide);
  const Shape shape = t.Shape(x);
  Ref zero = t.Zeros(x), one = t.Ones(x);
  Ref is_zero = t.Binary(Op::kCmpEq, x, zero);
  Ref factor = t.Where(is_zero, one, x);
  Ref mark = t.Where(is_zero, t.Binary(Op::kAdd, x, one), zero);
  Ref product = t.Expand(t.Reduce(Op::kMul, factor, axes), shape);
  Ref others = t.Binary(Op::kSub, t.Expand(t.Reduce(Op::kAdd, mark, axes), shape), mark);
  Ref no_zero = t.Binary(Op::kCmpEq, others, zero), one_zero = t.Binary(Op::kCmpEq, others, one);
  Ref times = t.Where(no_zero, one, t.Where(one_zero, t.Binary(Op::kSub, others, one), zero));
  Ref adjoint = t.Expand(t.Cast(d, wide), shape);
  Ref each = t.Binary(Op::kMul, t.Binary(Op::kFDiv, product, factor), times);
  return t.Cast(t.Binary(Op::kMul, adjoint, each), v->dtype);
}

}  // namespace

absl::StatusOr<Ref> MovementGradient(Terms& t, Ref v, Ref d) {
  const Shape from = t.Shape(v->src(0));
  switch (v->op) {
    case Op::kReshape:
      return t.Move(d, Movement::Reshape({from.begin(), from.end()}), from);
    case Op::kExpand:
      return t.Reduce(Op::kAdd, d, RepeatedAxes(from, t.Shape(v)));
    case Op::kPermute:
      return t.Move(d, Movement::Permute(Inverse(v->arg.payload().ints)), from);
    case Op::kFlip:
      return t.Move(d, StepOf(v), from);
    default: {
      KILN_ASSIGN_OR_RETURN(const Movement step, Undone(t.graph(), v, from));
      return t.Move(d, step, from);
    }
  }
}

Ref ReduceGradient(Terms& t, Ref v, Ref d) {
  switch (v->arg.reduce().op) {
    case Op::kAdd:
      return t.Expand(d, t.Shape(v->src(0)));
    case Op::kMax:
      return MaxGradient(t, v, d);
    default:
      return ProductGradient(t, v, d);
  }
}

}  // namespace kiln::tensor::internal
