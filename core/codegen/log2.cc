// log2(x) = e + log2(e) * log(m). With f = m - 1 and s = f / (2 + f), log(m) is 2s + s^3 *
// polynomial in s^2, written as f - (f^2/2 - s * (f^2/2 + s^2 * polynomial)), so that the leading
// term has no error and is rounded last. Source: the method of fdlibm's __ieee754_log (K. C. Ng,
// 1993), with log2(e) and the leading term split into short parts whose product is exact.
#include "core/codegen/log2.h"

#include <bit>
#include <limits>

#include "core/codegen/coefficients.h"
#include "core/codegen/transcendental.h"

namespace kiln::codegen {
namespace internal {

Scaled SplitExponent(const FloatKind& kind, Expr x) {
  // Denormals are scaled up first.
  const double min_normal = kind.is_double() ? 0x1p-1022 : 0x1p-126;
  const double up = static_cast<double>(uint64_t{1} << kind.precision);
  const Expr tiny = x < min_normal;
  const Expr bits = Select(tiny, x * up, x).Bits(kind.i);
  // Counting exponents from sqrt(1/2) makes the significand start there.
  const Expr e = (bits - x.Const(0.70710678118654752).Bits(kind.i)) >> kind.fraction_bits();
  const Expr m = (bits - (e << kind.fraction_bits())).Bits(kind.f);
  return {m, (e - Select(tiny, e.Const(kind.precision), 0)).As(kind.f)};
}

namespace {

Expr Log2(const FloatKind& kind, Expr x) {
  const auto [m, e] = SplitExponent(kind, x);
  const Expr f = m - 1.0;
  const Expr s = f / (f + 2.0);
  const Expr z = s * s;
  const Expr r = z * (kind.is_double() ? Polynomial(z, kLog64) : Polynomial(z, kLog32));
  const Expr half_square = f * f * 0.5;
  const Expr hi = Short(kind, f - half_square);
  const Expr lo = ((f - hi) - half_square) + s * (half_square + r);

  const double scale = ShortConstant(kind, kLog2E);
  const Expr leading = hi * scale;  // Exact.
  const Expr rest = lo * kLog2E + hi * (kLog2E - scale);
  const Sum sum = FastTwoSum(e, leading);  // |e| >= 1 > |leading|, or e is 0.
  const Expr result = sum.hi + (sum.lo + rest);

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Expr outside = Select(x < 0.0, x.Const(kNan), -kInfinity);
  return Select(x < kInfinity, Select(x.Const(0.0) < x, result, outside), x);  // x: inf or NaN.
}

}  // namespace
}  // namespace internal

Ref Log2(Graph& g, Ref x) {
  return internal::InWorkingPrecision(
      g, x, [](const internal::FloatKind& kind, Expr v) { return internal::Log2(kind, v); });
}

}  // namespace kiln::codegen
