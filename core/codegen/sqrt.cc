// sqrt(x): x = m * 4^n with 1 <= m < 4; Heron's iteration for m; then the exact remainder decides
// the last bit.
#include <limits>

#include "core/codegen/float_kind.h"
#include "core/codegen/transcendental.h"

namespace kiln::codegen {
namespace internal {
namespace {

// sqrt(m) to within one unit in the last place, for 1 <= m < 4.
Expr Approximate(const FloatKind& kind, Expr m) {
  // Halving the bits halves exponent and significand: the root within 6 %.
  Expr y =
      ((m.Bits(kind.i) >> 1) + (int64_t{kind.bias} << (kind.fraction_bits() - 1))).Bits(kind.f);
  const int steps = kind.is_double() ? 4 : 3;  // Each squares the error (and halves it).
  for (int i = 0; i < steps; ++i) y = (y + m / y) * 0.5;
  return Select(y < 1.0, 1.0, y);
}

// The number nearest to sqrt(m) among y and its neighbours.
Expr RoundCorrectly(const FloatKind& kind, Expr m, Expr y) {
  const double ulp = 2.0 / static_cast<double>(uint64_t{1} << kind.precision);  // Of [1, 2).
  // m - y^2 by short parts, whose products are exact; so are the differences, as they cancel.
  const Expr head = Short(kind, y);
  const Expr tail = y - head;
  const Expr remainder = ((m - head * head) - head * tail * 2.0) - tail * tail;
  // sqrt(m) > y + ulp/2 is remainder > y ulp + ulp^2/4; the last term is less than a unit of the
  // others.
  const Expr margin = y * ulp;
  return Select(margin < remainder, y + ulp, Select(-margin < remainder, y, y - ulp));
}

Expr Sqrt(const FloatKind& kind, Expr x) {
  // Denormals are scaled up by an even power of two.
  const int shift = (kind.precision + 1) / 2 * 2;
  const Expr tiny = x < (kind.is_double() ? 0x1p-1022 : 0x1p-126);
  const double up = static_cast<double>(uint64_t{1} << shift);
  const Expr bits = Select(tiny, x * up, x).Bits(kind.i);
  const Expr n = ((bits >> kind.fraction_bits()) - kind.bias) >> 1;
  const Expr m = (bits - (n << (kind.fraction_bits() + 1))).Bits(kind.f);
  const Expr root = RoundCorrectly(kind, m, Approximate(kind, m));
  const Expr result = root * PowerOfTwo(kind, n - Select(tiny, n.Const(shift / 2), 0));

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Expr outside = Select(x < 0.0, kNan, x);  // x: a zero with its sign.
  return Select(x < kInfinity, Select(x.Const(0.0) < x, result, outside), x);  // x: inf or NaN.
}

}  // namespace
}  // namespace internal

Ref Sqrt(Graph& g, Ref x) {
  return internal::InWorkingPrecision(
      g, x, [](const internal::FloatKind& kind, Expr v) { return internal::Sqrt(kind, v); });
}

}  // namespace kiln::codegen
