// Gradients of movement and of reductions.
#include <cstddef>
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

// What a maximum or product is taken across: axes of a tensor, or the pieces of a sharded one.
struct Across {
  Terms& t;
  Ref v;  // A REDUCE or an ALLREDUCE.

  Ref Combined(Op by, Ref x) const {
    if (v->Is(Op::kReduce)) return t.Reduce(by, x, v->arg.reduce().axes);
    return t.graph().Make(Op::kAllReduce, x->dtype, {x}, Arg::Of(ReduceArg{by, 0}));
  }
  // What Combined makes, for each element that went into it.
  Ref Spread(Ref combined) const { return t.Expand(combined, t.Shape(v->src(0))); }
};

// To each of the largest an equal share.
Ref MaxGradient(const Across& across, Ref d) {
  Terms& t = across.t;
  Ref v = across.v, x = v->src(0);
  const Shape shape = t.Shape(x);
  const DType wide = AccumulatorOf(v->dtype);
  // A NaN among them makes all equal: there is always one to share among.
  Ref is_less = t.Binary(Op::kCmpLt, x, across.Spread(v));
  Ref one = t.Where(is_less, t.Uniform(wide, 0, shape), t.Uniform(wide, 1, shape));
  Ref count = across.Combined(Op::kAdd, one);
  Ref share = t.Cast(t.Binary(Op::kFDiv, t.Cast(d, wide), count), v->dtype);
  return t.Where(is_less, t.Zeros(x), across.Spread(share));
}

// The product of the others, which is (product of what is not zero) / x where no other is zero.
// Where one other, z, is zero, it is z times such a product: 0, but it matters to the next gradient.
// So the zeros are counted by a sum of z + 1, whose value is the count and which moves with z.
// Exact up to second derivatives, and beyond where at most one of the others is zero.
Ref OthersByQuotient(const Across& across, Ref x) {
  Terms& t = across.t;
  Ref zero = t.Zeros(x), one = t.Ones(x);
  Ref is_zero = t.Binary(Op::kCmpEq, x, zero);
  Ref factor = t.Where(is_zero, one, x);
  Ref mark = t.Where(is_zero, t.Binary(Op::kAdd, x, one), zero);
  Ref product = across.Spread(across.Combined(Op::kMul, factor));
  Ref others = t.Binary(Op::kSub, across.Spread(across.Combined(Op::kAdd, mark)), mark);
  Ref no_zero = t.Binary(Op::kCmpEq, others, zero), one_zero = t.Binary(Op::kCmpEq, others, one);
  Ref times = t.Where(no_zero, one, t.Where(one_zero, t.Binary(Op::kSub, others, one), zero));
  return t.Binary(Op::kMul, t.Binary(Op::kFDiv, product, factor), times);
}

// Few enough elements of an axis to look at all others for each.
constexpr int64_t kFewOthers = 16;

// The product of the others along `axis`, element by element: a product again, so that derivatives
// of any order are right.
Ref OthersAlong(Terms& t, Ref x, size_t axis) {
  const Shape shape = t.Shape(x);
  Graph& g = t.graph();
  std::vector<Ref> row(shape.begin(), shape.end());
  row.insert(row.begin() + static_cast<std::ptrdiff_t>(axis), g.Index(1));
  std::vector<Ref> pairs = row;
  pairs[axis] = shape[axis];
  Ref each = t.Expand(t.Move(x, Movement::Reshape(row), row), pairs);
  const auto place = [&](size_t along) {
    return g.Make(Op::kIota, DType::kInt32, pairs, Arg::Int(static_cast<int64_t>(along)));
  };
  Ref is_own = t.Binary(Op::kCmpEq, place(axis), place(axis + 1));
  Ref others = t.Where(is_own, t.Uniform(x->dtype, 1, pairs), each);
  Ref product = t.Reduce(Op::kMul, others, uint32_t{1} << (axis + 1));
  return t.Move(product, Movement::Reshape({shape.begin(), shape.end()}), shape);
}

bool IsFew(Ref size) { return size->IsConst() && size->IntValue() <= kFewOthers; }

// The product of the others over all of `axes`: those along an axis times those along the next.
Ref OthersByLooking(Terms& t, Ref x, uint32_t axes) {
  const Shape shape = t.Shape(x);
  Ref others = nullptr;
  for (size_t i = 0; i < shape.size(); ++i) {
    if ((axes >> i & 1) == 0 || IsOne(shape[i])) continue;
    Ref along = t.Expand(OthersAlong(t, x, i), shape);
    others = others == nullptr ? along : t.Binary(Op::kMul, others, along);
    x = t.Reduce(Op::kMul, x, uint32_t{1} << i);
  }
  return others == nullptr ? t.Uniform(x->dtype, 1, shape) : others;
}

Ref ProductGradient(const Across& across, Ref d) {
  Terms& t = across.t;
  Ref v = across.v, x = t.Cast(v->src(0), AccumulatorOf(v->dtype));
  const Shape shape = t.Shape(x);
  bool are_few = v->Is(Op::kReduce) && shape.size() < kMaxRank;
  for (size_t i = 0; are_few && i < shape.size(); ++i) {
    are_few = (v->arg.reduce().axes >> i & 1) == 0 || IsFew(shape[i]);
  }
  Ref others = are_few ? OthersByLooking(t, x, v->arg.reduce().axes) : OthersByQuotient(across, x);
  Ref adjoint = across.Spread(t.Cast(d, x->dtype));
  return t.Cast(t.Binary(Op::kMul, adjoint, others), v->dtype);
}

Ref ChosenGradient(const Across& across, Ref d) {
  return across.v->arg.reduce().op == Op::kMax ? MaxGradient(across, d)
                                               : ProductGradient(across, d);
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
  if (v->arg.reduce().op == Op::kAdd) return t.Expand(d, t.Shape(v->src(0)));
  return ChosenGradient({t, v}, d);
}

Ref AllReduceGradient(Terms& t, Ref v, Ref d) {
  // Each piece of the result depends on each piece of the source.
  const Across across{t, v};
  Ref sum = across.Combined(Op::kAdd, d);
  return v->arg.reduce().op == Op::kAdd ? sum : ChosenGradient(across, sum);
}

}  // namespace kiln::tensor::internal
