// 2^x = 2^n * c * 2^f with an integer n, c either 1 or sqrt(2), and |f| <= 1/4; 2^f is 1 + f *
// polynomial.
#include "core/codegen/exp2.h"

#include "core/codegen/coefficients.h"
#include "core/codegen/transcendental.h"

namespace kiln::codegen {
namespace internal {
namespace {

constexpr double kSqrt2 = 0x1.6a09e667f3bcdp0;
constexpr double kSqrt2Low = -0x1.bdd3413b26456p-54;  // sqrt(2) - kSqrt2.

struct Reduced {
  Expr halves;  // The number of halves nearest to x, an integer of kind.i.
  Expr f;       // x - halves / 2, exactly.
};

// Adds a number so large that what is below a half is rounded away; what was added to its bits is
// then the number of halves. So nothing is converted, and a NaN does no harm.
Reduced SplitHalves(const FloatKind& kind, Expr x) {
  const Expr shifter = x.Const(0.75 * static_cast<double>(uint64_t{1} << kind.fraction_bits()));
  const Expr shifted = x + shifter;
  return {shifted.Bits(kind.i) - shifter.Bits(kind.i), x - (shifted - shifter)};
}

// 2^(f + low) - 1, for |f| <= 1/4 and tiny low.
Expr Growth(const FloatKind& kind, Expr f, std::optional<Expr> low) {
  const auto slope = [&](Expr v) {
    return kind.is_double() ? Polynomial(v, kExp264) : Polynomial(v, kExp232);
  };
  if (!low.has_value()) return f * slope(f);
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const Sum sum = TwoSum(f, *low);
  return sum.hi * slope(sum.hi) + sum.lo * kLn2;
}

}  // namespace

Expr Exp2(const FloatKind& kind, Expr x, std::optional<Expr> low) {
  // Beyond these the result is infinite or rounds to zero.
  const double top = kind.bias + 2, bottom = -(kind.bias + kind.precision + 2);
  const Expr clamped = Select(x < bottom, bottom, Select(x.Const(top) < x, top, x));
  if (low.has_value()) low = Select(Magnitude(kind, x) < 2 * top, *low, 0.0);
  const auto [halves, f] = SplitHalves(kind, clamped);
  const Expr growth = Growth(kind, f, low);
  const Expr odd = (halves & 1) != 0;
  const double root = dtype::RoundToFloat(kSqrt2, kind.f);
  const Expr c = Select(odd, x.Const(root), 1.0);
  const Expr c_low = Select(odd, x.Const(kSqrt2 - root + kSqrt2Low), 0.0);
  return ScaleByPowerOfTwo(kind, c + (c * growth + c_low), halves >> 1);
}

}  // namespace internal

Ref Exp2(Graph& g, Ref x) {
  return internal::InWorkingPrecision(
      g, x, [](const internal::FloatKind& kind, Expr v) { return internal::Exp2(kind, v); });
}

}  // namespace kiln::codegen
