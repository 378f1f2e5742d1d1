// x^y = 2^(y log2 |x|), with the logarithm to about one and a half times the precision of the type,
// since its error is multiplied by up to the largest exponent; then the signs and special cases of
// C's pow.
//
// Every product whose error matters is one of short parts, hence exact. Source: the method of
// fdlibm's
// __ieee754_pow (K. C. Ng, 2004), without its table.
#include <cmath>
#include <limits>
#include <optional>

#include "core/codegen/coefficients.h"
#include "core/codegen/exp2.h"
#include "core/codegen/log2.h"
#include "core/codegen/transcendental.h"

namespace kiln::codegen {
namespace internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The sum with a short `hi`. Pre: |lo| is small against |hi|.
Sum Rebalance(const FloatKind& kind, Sum v) {
  const Expr head = Short(kind, v.hi + v.lo);
  return {head, (v.hi - head) + v.lo};
}

// The product of two sums with short `hi`; the product's `hi` is exact, not short.
Sum Multiply(Sum a, Sum b) { return {a.hi * b.hi, a.hi * b.lo + a.lo * (b.hi + b.lo)}; }

// v + low as a sum with short `hi`: a constant to more than double precision.
Sum SplitConstant(const FloatKind& kind, Expr like, double v, double low) {
  const double head = ShortConstant(kind, v);
  return {like.Const(head), like.Const(v - head + low)};
}

// f / (2 + f) with short `hi`, where f = m - 1.
Sum Ratio(const FloatKind& kind, Expr m) {
  const Expr f = m - 1.0;
  const Expr divisor = m + 1.0;
  const Expr divisor_low = m - (divisor - 1.0);
  const Expr head = Short(kind, f / divisor);
  const Expr divisor_head = Short(kind, divisor);
  const Expr divisor_tail = (divisor - divisor_head) + divisor_low;
  const Expr remainder = (f - head * divisor_head) - head * divisor_tail;
  return {head, remainder / divisor};
}

// log2(x) with short `hi`, for finite x > 0. With s = (m-1)/(m+1) and z = s^2,
// log(m) = 2 atanh(s) = 2 s (1 + z (1/3 + z polynomial(z))).
Sum ExtendedLog2(const FloatKind& kind, Expr x) {
  const auto [m, e] = SplitExponent(kind, x);
  const Sum s = Ratio(kind, m);
  const Expr s_value = s.hi + s.lo;
  const Sum z = Rebalance(kind, {s.hi * s.hi, s.lo * (s.hi + s_value)});
  const Expr z_value = z.hi + z.lo;
  const Expr tail =
      z_value * (kind.is_double() ? Polynomial(z_value, kAtanh64) : Polynomial(z_value, kAtanh32));
  const Sum third = SplitConstant(kind, x, 1.0 / 3, 0x1.5555555555555p-56);
  const Sum inner = Rebalance(kind, {third.hi, third.lo + tail});
  const Sum growth = Multiply(z, inner);
  const Sum factor = Rebalance(kind, {x.Const(1.0), growth.hi + growth.lo});
  const Sum atanh = Multiply(s, {factor.hi, ((1.0 - factor.hi) + growth.hi) + growth.lo});
  const Sum scale = SplitConstant(kind, x, 2 * kLog2E, 2 * kLog2ELow);
  const Sum log2_m = Multiply(Rebalance(kind, atanh), scale);
  const Sum sum = FastTwoSum(e, log2_m.hi);  // |e| >= 1 > |log2_m|, or e is 0.
  return Rebalance(kind, {sum.hi, sum.lo + log2_m.lo});
}

// |x|^y for finite x != 0 and any y but NaN, where |x| != 1 if y is infinite.
Expr PowerOfMagnitude(const FloatKind& kind, Expr magnitude, Expr y) {
  // Unless |x| is 1, a larger |y| gives 0 or infinity just as this one does, and products with it
  // are finite.
  const double limit = kind.is_double() ? 0x1p68 : 0x1p36;
  const Expr clamped = Select(y < -limit, -limit, Select(y.Const(limit) < y, limit, y));
  const Expr head = Short(kind, clamped);
  const Sum exponent = Multiply({head, clamped - head}, ExtendedLog2(kind, magnitude));
  return Exp2(kind, exponent.hi, exponent.lo);
}

// Tests by adding a number which rounds to integers what is below it; from there on floats are
// integers.
Expr IsInteger(const FloatKind& kind, Expr magnitude) {
  const double shifter = static_cast<double>(uint64_t{1} << kind.fraction_bits());
  const Expr rounded = (magnitude + shifter) - shifter;
  return Equal(rounded, magnitude) | !(magnitude < shifter);
}

Expr Pow(const FloatKind& kind, Expr x, Expr y) {
  const Expr magnitude = Magnitude(kind, x), y_magnitude = Magnitude(kind, y);
  const Expr zero = Equal(magnitude, 0.0), infinite = Equal(magnitude, kInfinity);
  const Expr finite_result = PowerOfMagnitude(kind, magnitude, y);
  const Expr extreme_result = Select((y < 0.0) ^ zero, magnitude.Const(0.0), kInfinity);
  const Expr absolute = Select(zero | infinite, extreme_result, finite_result);
  // An odd integer keeps the sign of x; a fraction of a negative number is not defined.
  const Expr integer = IsInteger(kind, y_magnitude);
  const Expr odd = integer & !IsInteger(kind, y_magnitude * 0.5);
  const Expr sign = x.Bits(kind.u) & (uint64_t{1} << (kind.bits - 1));
  const Expr result = (absolute.Bits(kind.u) ^ Select(odd, sign, sign.Const(0))).Bits(kind.f);
  const Expr undefined = (x < 0.0) & !infinite & !integer;
  const Expr is_nan = (x != x) | (y != y);
  // Whatever the other operand is, even a NaN; -1 to an infinite power is 1 as well.
  const Expr one =
      Equal(x, 1.0) | Equal(y, 0.0) | (Equal(magnitude, 1.0) & Equal(y_magnitude, kInfinity));
  return Select(one, 1.0, Select(is_nan | undefined, kNan, result));
}

// The largest exponent for which repeated products are quicker than a logarithm.
constexpr int kMaxProducts = 16;

// 1 <= n <= kMaxProducts, if `y` is such a constant.
std::optional<int> SmallExponent(Ref y) {
  if (!y->IsConst()) return std::nullopt;
  const double v = y->arg.scalar().AsFloat();
  if (!(v >= 1 && v <= kMaxProducts) || v != std::trunc(v)) return std::nullopt;
  return static_cast<int>(v);
}

// By squaring. In float64 the product of float32 is rounded but once that matters, and no power in
// between leaves the range.
Expr PowerByProducts(Expr x, int n) {
  const Expr base = x.As(DType::kFloat64);
  Expr power = base;
  std::optional<Expr> result;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) result = result.has_value() ? *result * power : power;
    if (n > 1) power = power * power;
  }
  return result->As(x.dtype());
}

}  // namespace
}  // namespace internal

Ref Pow(Graph& g, Ref x, Ref y) {
  if (const auto n = internal::SmallExponent(y); n.has_value()) {
    if (*n == 1) return x;
    if (*n == 2) return g.Mul(x, x);
    if (x->dtype != DType::kFloat64) return internal::PowerByProducts(Expr(g, x), *n).ref();
    if (*n == 3) return g.Mul(g.Mul(x, x), x);  // Within two units in the last place.
  }
  return internal::InWorkingPrecision(g, x, [&](const internal::FloatKind& kind, Expr v) {
    return internal::Pow(kind, v, Expr(g, y).As(kind.f));
  });
}

}  // namespace kiln::codegen
