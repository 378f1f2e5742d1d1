#include "core/tensor/gradient/terms.h"

#include <array>
#include <vector>

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/tensor/index_math.h"

namespace kiln::tensor::internal {
namespace {

// Nodes between a constant and what is still seen to be uniform.
constexpr int kMaxUniformDepth = 8;

bool Is(const std::optional<Scalar>& value, DType d, double v) {
  if (!value.has_value()) return false;
  return dtype::IsFloat(d) ? value->AsFloat() == v : value->AsInt() == static_cast<int64_t>(v);
}

// The number of elements along `axes`, if it is known.
std::optional<double> CountAlong(absl::Span<const Ref> shape, uint32_t axes) {
  double count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if ((axes >> i & 1) == 0) continue;
    if (!shape[i]->IsConst()) return std::nullopt;
    count *= static_cast<double>(shape[i]->IntValue());
  }
  return count;
}

}  // namespace

DType AccumulatorOf(DType d) { return dtype::SizeBits(d) < 32 ? DType::kFloat32 : d; }

std::optional<Scalar> UniformValue(Ref n) {
  for (int depth = 0; depth < kMaxUniformDepth; ++depth) {
    if (n->IsConst()) return n->arg.scalar();
    if (!uop::IsMovement(n->op) || n->Is(Op::kPad)) return std::nullopt;
    n = n->src(0);
  }
  return std::nullopt;
}

Ref Terms::Uniform(DType dtype, double value, absl::Span<const Ref> shape) {
  const Scalar v = dtype::IsFloat(dtype) ? Scalar::Float(dtype::RoundToFloat(value, dtype))
                                         : Scalar::Int(static_cast<int64_t>(value));
  return UniformScalar(dtype, v, shape);
}

Ref Terms::UniformScalar(DType dtype, Scalar value, absl::Span<const Ref> shape) {
  Ref n = g_.Const(dtype, value);
  if (shape.empty()) return n;
  const std::vector<Ref> ones(shape.size(), g_.Index(1));
  n = Apply(g_, n, Movement::Reshape(ones));
  if (absl::MakeConstSpan(ones) == shape) return n;
  return Apply(g_, n, Movement::Expand({shape.begin(), shape.end()}));
}

// ** elementwise **

Ref Terms::Folded(Op op, absl::Span<const Ref> src) {
  std::array<std::optional<Scalar>, 3> value;
  bool all = true;
  for (size_t i = 0; i < src.size(); ++i) {
    value[i] = UniformValue(src[i]);
    all = all && value[i].has_value();
  }
  const DType d = src.back()->dtype;
  if (all) {
    std::array<Scalar, 3> operands;
    for (size_t i = 0; i < src.size(); ++i) operands[i] = *value[i];
    const auto folded = dtype::EvalAlu(uop::ToAlu(op), d, {operands.data(), src.size()});
    if (!folded.has_value()) return nullptr;
    return UniformScalar(uop::IsComparison(op) ? DType::kBool : d, *folded, Shape(src[0]));
  }
  const auto is = [&](size_t i, double v) { return Is(value[i], src[i]->dtype, v); };
  switch (op) {
    case Op::kNeg:
      return src[0]->Is(Op::kNeg) ? src[0]->src(0) : nullptr;
    case Op::kAdd:
      return is(0, 0) ? src[1] : is(1, 0) ? src[0] : nullptr;
    case Op::kSub:
      return is(1, 0) ? src[0] : nullptr;
    case Op::kMul:
      return is(0, 1) ? src[1] : is(1, 1) ? src[0] : nullptr;
    case Op::kFDiv:
      return is(1, 1) ? src[0] : nullptr;
    case Op::kPow:
      return is(1, 1) ? src[0] : is(1, 0) ? Ones(src[0]) : nullptr;
    case Op::kAnd:
      if (d != DType::kBool) return nullptr;
      return is(0, 0) || is(1, 1) ? src[0] : is(1, 0) || is(0, 1) ? src[1] : nullptr;
    case Op::kWhere:
      if (src[1] == src[2] || is(0, 1)) return src[1];
      return is(0, 0) ? src[2] : nullptr;
    default:
      return nullptr;
  }
}

Ref Terms::Alu(Op op, absl::Span<const Ref> src) {
  if (Ref folded = Folded(op, src)) return folded;
  return g_.Make(op, uop::IsComparison(op) ? DType::kBool : src.back()->dtype, src);
}

Ref Terms::Cast(Ref x, DType to) {
  if (x->dtype == to) return x;
  if (const auto value = UniformValue(x)) {
    if (const auto cast = dtype::Cast(*value, x->dtype, to)) {
      return UniformScalar(to, *cast, Shape(x));
    }
  }
  return g_.Cast(x, to);
}

// ** movement and reductions **

Ref Terms::Move(Ref x, const Movement& step, absl::Span<const Ref> shape) {
  if (step.op != Op::kPad) {
    if (const auto value = UniformValue(x)) return UniformScalar(x->dtype, *value, shape);
  }
  const bool same_shape = Shape(x) == shape;
  if (same_shape && (step.op == Op::kReshape || step.op == Op::kExpand)) return x;
  Ref moved = Apply(g_, x, step);
  if (Shape(moved) == shape) return moved;
  return Apply(g_, moved, Movement::Reshape({shape.begin(), shape.end()}));
}

Ref Terms::Expand(Ref x, absl::Span<const Ref> shape) {
  return Move(x, Movement::Expand({shape.begin(), shape.end()}), shape);
}

Ref Terms::Reduce(Op by, Ref x, uint32_t axes) {
  if (axes == 0) return x;
  if (const auto value = UniformValue(x); value.has_value() && by == Op::kAdd) {
    if (const auto count = CountAlong(Shape(x), axes)) {
      std::vector<Ref> shape(Shape(x).begin(), Shape(x).end());
      for (size_t i = 0; i < shape.size(); ++i) {
        if ((axes >> i & 1) != 0) shape[i] = g_.Index(1);
      }
      return Uniform(x->dtype, value->AsFloat() * *count, shape);
    }
  }
  const DType wide = AccumulatorOf(x->dtype);
  Ref sum = g_.Make(Op::kReduce, wide, {Cast(x, wide)}, Arg::Of(ReduceArg{by, axes}));
  return Cast(sum, x->dtype);
}

Ref Terms::Sum(absl::Span<const Ref> terms) {
  const DType d = terms[0]->dtype;
  // Two are rounded once anyway.
  const DType wide = terms.size() > 2 ? AccumulatorOf(d) : d;
  std::vector<Ref> level;
  for (Ref term : terms) level.push_back(Cast(term, wide));
  while (level.size() > 1) {
    size_t out = 0;
    for (size_t i = 0; i < level.size(); i += 2) {
      level[out++] = i + 1 < level.size() ? Binary(Op::kAdd, level[i], level[i + 1]) : level[i];
    }
    level.resize(out);
  }
  return Cast(level[0], d);
}

}  // namespace kiln::tensor::internal
