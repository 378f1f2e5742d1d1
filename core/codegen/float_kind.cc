#include "core/codegen/float_kind.h"

#include <bit>

namespace kiln::codegen::internal {

Expr Polynomial(Expr x, absl::Span<const double> coefficients) {
  Expr result = x.Const(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) result = result * x + coefficients[i];
  return result;
}

Expr PowerOfTwo(const FloatKind& kind, Expr n) {
  return ((n + kind.bias) << kind.fraction_bits()).Bits(kind.f);
}

Expr ScaleByPowerOfTwo(const FloatKind& kind, Expr x, Expr n) {
  // In two steps, since 2^n itself may be out of range. The first is exact: its result is normal.
  const Expr half = n >> 1;
  return x * PowerOfTwo(kind, half) * PowerOfTwo(kind, n - half);
}

Expr Short(const FloatKind& kind, Expr x) {
  return (x.Bits(kind.u) & ~((uint64_t{1} << kind.low_bits) - 1)).Bits(kind.f);
}

double ShortConstant(const FloatKind& kind, double v) {
  const int low_bits = 53 - kind.precision + kind.low_bits;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(v) & ~((uint64_t{1} << low_bits) - 1));
}

Expr Magnitude(const FloatKind& kind, Expr x) {
  return (x.Bits(kind.u) & ((uint64_t{1} << (kind.bits - 1)) - 1)).Bits(kind.f);
}

Sum FastTwoSum(Expr a, Expr b) {
  const Expr sum = a + b;
  return {sum, b - (sum - a)};
}

Sum TwoSum(Expr a, Expr b) {
  const Expr sum = a + b;
  const Expr shadow = sum - a;
  return {sum, (a - (sum - shadow)) + (b - shadow)};
}

}  // namespace kiln::codegen::internal
