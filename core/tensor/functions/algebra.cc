#include "core/tensor/functions/algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/promote.h"

namespace kiln::tensor::functions {

// ** constants **

Tensor Literal(Composer& c, DType dtype, double v) {
  if (!c.ok()) return {};
  const auto scalar = dtype::Cast(kiln::Scalar::Float(v), DType::kFloat64, dtype);
  return c.Take(c.builder().Const(dtype, scalar.value_or(kiln::Scalar())));
}

Tensor Literal(const Tensor& like, double v) {
  return like ? Literal(*like.composer(), like.dtype(), v) : Tensor();
}

Tensor Integer(Composer& c, DType dtype, int64_t v) {
  if (!c.ok()) return {};
  const auto scalar = dtype::Cast(kiln::Scalar::Int(v), DType::kInt64, dtype);
  return c.Take(c.builder().Const(dtype, scalar.value_or(kiln::Scalar())));
}

Tensor Literal(Composer& c, DType dtype, const Size& v) {
  if (v.is_known() && dtype::IsFixedWidthInteger(dtype)) return Integer(c, dtype, v.value());
  if (v.is_known()) return Literal(c, dtype, static_cast<double>(v.value()));
  return c.ok() ? c.Take(c.builder().Cast(c.Keep(v.ref()), dtype)) : Tensor();
}

double Lowest(DType d) {
  if (dtype::IsFloat(d)) return -std::numeric_limits<double>::infinity();
  return static_cast<double>(dtype::MinValue(d));
}

Tensor Full(Composer& c, DType dtype, const Shape& shape, double v) {
  return BroadcastTo(Literal(c, dtype, v), shape);
}

Tensor Arange(Composer& c, DType dtype, const Size& n) { return Positions(c, dtype, n, 1, 0); }

DType IndexDType(const Size& n) {
  return n.is_known() && n.value() < (int64_t{1} << 31) ? DType::kInt32 : DType::kInt64;
}

Tensor Positions(Composer& c, DType dtype, const Size& n, int64_t rank, int64_t axis) {
  if (!c.ok()) return {};
  Shape shape(static_cast<size_t>(rank), Size(1));
  shape[static_cast<size_t>(axis)] = n;
  return c.Take(c.builder().Iota(dtype, c.ToDims(shape), axis));
}

// ** shapes **

Shape BroadcastShape(Composer& c, const std::vector<Shape>& shapes) {
  size_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.size());
  Shape result(rank, Size(1));
  for (const Shape& s : shapes) {
    for (size_t i = 0; i < s.size(); ++i) {
      Size& to = result[rank - s.size() + i];
      if (s[i].Is(1) || s[i] == to) continue;
      if (!to.Is(1)) {
        std::string text;
        for (const Shape& each : shapes) {
          absl::StrAppend(&text, text.empty() ? "" : " and ", ToText(each));
        }
        c.Fail("the shapes ", text, " do not broadcast");
        return {};
      }
      to = s[i];
    }
  }
  return result;
}

Tensor BroadcastTo(const Tensor& x, const Shape& shape) {
  if (!x || !x.composer()->ok()) return {};
  Composer& c = *x.composer();
  Shape own = x.shape();
  if (own == shape) return x;
  if (BroadcastShape(c, {own, shape}) != shape) {
    return c.Fail("the shape ", ToText(own), " does not broadcast to ", ToText(shape));
  }
  own.insert(own.begin(), shape.size() - own.size(), Size(1));
  const Tensor aligned = Reshape(x, own);
  if (own == shape || !c.ok()) return aligned;
  return c.Take(c.builder().Expand(aligned.value(), c.ToDims(shape)));
}

Tensors Broadcast(Tensors xs) {
  if (xs.empty() || !xs[0]) return xs;
  Composer& c = *xs[0].composer();
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const Tensor& x : xs) {
    dtypes.push_back(x.dtype());
    shapes.push_back(x.shape());
  }
  const DType dtype = dtype::LeastUpperDType(dtypes);
  const Shape shape = BroadcastShape(c, shapes);
  for (Tensor& x : xs) x = BroadcastTo(Cast(x, dtype), shape);
  return xs;
}

Size Count(const Shape& shape) {
  Size n = 1;
  for (const Size& s : shape) n = n * s;
  return n;
}

// ** elementwise **

namespace {

Composer* ComposerOf(std::initializer_list<const Tensor*> xs) {
  for (const Tensor* x : xs) {
    if (!*x || !x->composer()->ok()) return nullptr;
  }
  return (*xs.begin())->composer();
}

}  // namespace

Tensor Cast(const Tensor& x, DType to) {
  Composer* c = ComposerOf({&x});
  if (c == nullptr) return {};
  if (x.dtype() == to) return x;
  return c->Take(c->builder().Cast(x.value(), to));
}

Tensor Bitcast(const Tensor& x, DType to) {
  Composer* c = ComposerOf({&x});
  if (c == nullptr) return {};
  if (x.dtype() == to) return x;
  return c->Take(c->builder().Bitcast(x.value(), to));
}

Tensor Alu(Op op, const Tensor& x) {
  Composer* c = ComposerOf({&x});
  if (c == nullptr) return {};
  return c->Take(c->builder().Alu(op, {x.value()}));
}

Tensor Alu(Op op, const Tensor& x, const Tensor& y) {
  Composer* c = ComposerOf({&x, &y});
  if (c == nullptr) return {};
  const Tensors xy = Broadcast({x, y});
  if (!c->ok()) return {};
  return c->Take(c->builder().Alu(op, {xy[0].value(), xy[1].value()}));
}

Tensor Where(const Tensor& p, const Tensor& x, const Tensor& y) {
  Composer* c = ComposerOf({&p, &x, &y});
  if (c == nullptr) return {};
  const DType dtype = dtype::LeastUpperDType(x.dtype(), y.dtype());
  const Shape shape = BroadcastShape(*c, {p.shape(), x.shape(), y.shape()});
  const Tensor condition = BroadcastTo(Cast(p, DType::kBool), shape);
  const Tensor yes = BroadcastTo(Cast(x, dtype), shape), no = BroadcastTo(Cast(y, dtype), shape);
  if (!c->ok()) return {};
  return c->Take(c->builder().Alu(Op::kWhere, {condition.value(), yes.value(), no.value()}));
}
Tensor Where(const Tensor& p, const Tensor& x, double y) { return Where(p, x, Literal(x, y)); }
Tensor Where(const Tensor& p, double x, const Tensor& y) { return Where(p, Literal(y, x), y); }
Tensor Where(const Tensor& p, double x, double y, DType dtype) {
  if (!p) return {};
  return Where(p, Literal(*p.composer(), dtype, x), Literal(*p.composer(), dtype, y));
}

Tensor operator+(const Tensor& x, const Tensor& y) { return Alu(Op::kAdd, x, y); }
Tensor operator-(const Tensor& x, const Tensor& y) { return Alu(Op::kSub, x, y); }
Tensor operator-(const Tensor& x) { return Alu(Op::kNeg, x); }
Tensor operator*(const Tensor& x, const Tensor& y) { return Alu(Op::kMul, x, y); }
Tensor operator/(const Tensor& x, const Tensor& y) { return Alu(Op::kFDiv, x, y); }
Tensor operator+(const Tensor& x, double y) { return x + Literal(x, y); }
Tensor operator-(const Tensor& x, double y) { return x - Literal(x, y); }
Tensor operator-(double x, const Tensor& y) { return Literal(y, x) - y; }
Tensor operator*(const Tensor& x, double y) { return x * Literal(x, y); }
Tensor operator/(const Tensor& x, double y) { return x / Literal(x, y); }
Tensor operator+(double x, const Tensor& y) { return y + x; }
Tensor operator*(double x, const Tensor& y) { return y * x; }
Tensor operator/(double x, const Tensor& y) { return Literal(y, x) / y; }
Tensor operator<(const Tensor& x, const Tensor& y) { return Alu(Op::kCmpLt, x, y); }
Tensor operator>(const Tensor& x, const Tensor& y) { return y < x; }
Tensor operator<(const Tensor& x, double y) { return x < Literal(x, y); }
Tensor operator>(const Tensor& x, double y) { return Literal(x, y) < x; }
Tensor Equal(const Tensor& x, const Tensor& y) { return Alu(Op::kCmpEq, x, y); }
Tensor Equal(const Tensor& x, double y) { return Equal(x, Literal(x, y)); }
Tensor NotEqual(const Tensor& x, const Tensor& y) { return Alu(Op::kCmpNe, x, y); }
Tensor operator~(const Tensor& p) { return NotEqual(p, Literal(p, 1)); }
Tensor operator&(const Tensor& p, const Tensor& q) { return Alu(Op::kAnd, p, q); }
Tensor operator|(const Tensor& p, const Tensor& q) { return Alu(Op::kOr, p, q); }
Tensor Maximum(const Tensor& x, const Tensor& y) { return Alu(Op::kMax, x, y); }
Tensor Maximum(const Tensor& x, double y) { return Maximum(x, Literal(x, y)); }
Tensor Minimum(const Tensor& x, double y) { return Minimum(x, Literal(x, y)); }

Tensor ReversedOrder(const Tensor& x) {
  if (x.is_float()) return -x;
  if (x.dtype() == DType::kBool) return ~x;
  return Alu(Op::kXor, x, Literal(x, dtype::IsSigned(x.dtype()) ? -1 : 0x1p64));  // Saturates.
}

Tensor Minimum(const Tensor& x, const Tensor& y) {
  return ReversedOrder(Maximum(ReversedOrder(x), ReversedOrder(y)));
}

Tensor Detach(const Tensor& x) {
  Composer* c = ComposerOf({&x});
  return c == nullptr ? Tensor() : c->Take(c->builder().Detach(x.value()));
}

DType WideDType(DType d) {
  return dtype::IsFloat(d) && dtype::SizeBits(d) < 32 ? DType::kFloat32 : d;
}
Tensor Widened(const Tensor& x) { return Cast(x, WideDType(x.dtype())); }

// ** mathematical functions of floats **

Tensor Sqrt(const Tensor& x) { return Alu(Op::kSqrt, x); }
Tensor Exp(const Tensor& x) { return Alu(Op::kExp2, x * std::numbers::log2e); }
Tensor Log(const Tensor& x) { return Alu(Op::kLog2, x) * std::numbers::ln2; }
Tensor Sin(const Tensor& x) { return Alu(Op::kSin, x); }
// 1 - 2 sin(x/2)^2: off by a rounding of 1 for large x too, unlike sin(x + pi/2).
Tensor Cos(const Tensor& x) { return 1 - Square(Sin(x * 0.5)) * 2; }
Tensor Trunc(const Tensor& x) { return x.is_float() ? Alu(Op::kTrunc, x) : x; }
Tensor Floor(const Tensor& x) {
  if (!x.is_float()) return x;
  const Tensor whole = Trunc(x);
  return Where(x < whole, whole - 1, whole);
}
Tensor Abs(const Tensor& x) {
  if (x.is_float()) return Maximum(x, -x);
  return dtype::IsSigned(x.dtype()) ? Where(x < 0, -x, x) : x;
}
// By e^-|x|, which can't overflow, nor can what its gradient is made of. Not by Abs: its gradient is 0 at 0.
Tensor Sigmoid(const Tensor& x) {
  const Tensor is_negative = x < 0;
  const Tensor z = Exp(Where(is_negative, x, -x));
  return Where(is_negative, z, 1) / (z + 1);
}
// By e^-2|x|; near 0, where its difference from 1 cancels, by a fraction whose error is below
// x^14 / (13!! 15!!) < 2^-52. Source: the continued fraction of Lambert, cut off after 13.
Tensor Tanh(const Tensor& x) {
  const Tensor is_negative = x < 0, is_near = Abs(x) < 0.5;
  const Tensor e = Exp(Where(is_negative, x, -x) * 2);
  const Tensor far = (1 - e) / (1 + e);
  const Tensor small = Where(is_near, x, 0);  // So that no gradient is infinite times 0.
  const Tensor s = Square(small);
  const Tensor near =
      small * (((s + 378) * s + 17325) * s + 135135) / (((s * 28 + 3150) * s + 62370) * s + 135135);
  return Where(is_near, near, Where(is_negative, -far, far));
}
// log(1 + x), corrected for the rounding of 1 + x, to first order. The correction is a term, not a
// factor, and no part of the gradient: that of log u is right as it is.
Tensor Log1p(const Tensor& x) {
  const Tensor u = x + 1;
  const Tensor lost = Where(Abs(x) < 1, (x - (u - 1)) / u, 0);
  return Log(u) + Detach(lost);
}
// e^x - 1, likewise corrected for the rounding of e^x, whose logarithm tells it.
Tensor Expm1(const Tensor& x) {
  const Tensor u = Exp(x), is_near = Abs(x) < 1;
  const Tensor lost = Where(is_near, u * (x - Log(Where(is_near, u, 1))), 0);
  return u - 1 + Detach(lost);
}
// By e^-|x|. Not by Abs nor Maximum, whose second derivatives at 0 are 0.
Tensor Softplus(const Tensor& x) {
  const Tensor is_negative = x < 0;
  return Where(is_negative, 0, x) + Log1p(Exp(Where(is_negative, x, -x)));
}
Tensor Root(const Tensor& x) {
  const Tensor is_zero = Equal(x, 0);
  return Where(is_zero, 0, Sqrt(Where(is_zero, 1, x)));
}
Tensor Square(const Tensor& x) { return x * x; }

// ** reductions **

Axes AllAxes(const Tensor& x) {
  Axes axes;
  for (int64_t a = 0; a < x.rank(); ++a) axes.push_back(a);
  return axes;
}

Tensor Reduce(Op op, const Tensor& x, const Axes& axes, Keep keep) {
  Composer* c = ComposerOf({&x});
  if (c == nullptr) return {};
  if (axes.empty()) return x;
  const bool is_exact = op == Op::kMax;
  const Tensor wide = is_exact ? x : Widened(x);
  if (!c->ok()) return {};
  Tensor y = c->Take(c->builder().Reduce(op, wide.value(), axes));
  y = Cast(y, x.dtype());
  return keep == Keep::kYes ? y : Squeeze(y, axes);
}
Tensor Sum(const Tensor& x, const Axes& axes, Keep keep) { return Reduce(Op::kAdd, x, axes, keep); }
Tensor Max(const Tensor& x, const Axes& axes, Keep keep) { return Reduce(Op::kMax, x, axes, keep); }
Tensor Min(const Tensor& x, const Axes& axes, Keep keep) {
  return ReversedOrder(Max(ReversedOrder(x), axes, keep));
}

Tensor Mean(const Tensor& x, const Axes& axes, Keep keep) {
  Composer* c = ComposerOf({&x});
  if (c == nullptr) return {};
  Size n = 1;
  for (int64_t a : axes) n = n * x.dim(a);
  const Tensor sum = Sum(Widened(x), axes, keep);
  return Cast(sum / Literal(*c, sum.dtype(), n), x.dtype());
}

}  // namespace kiln::tensor::functions
