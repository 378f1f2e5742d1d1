// What the elementary functions need to know about float32 and float64, and steps that they share.
// For the .cc files of this folder.
#pragma once

#include "absl/types/span.h"

#include "core/codegen/expr.h"

namespace kiln::codegen::internal {

struct FloatKind {
  DType f;     // The float type,
  DType i, u;  // and the integers of its size.
  int bits;
  int precision;  // Bits of significand, the implicit one included.
  int bias;       // Of the exponent field.
  int low_bits;   // A float whose `low_bits` last bits are zero is short: products of two such are
                  // exact, and so are products of one with the rest of another.

  constexpr int fraction_bits() const { return precision - 1; }
  constexpr bool is_double() const { return precision == 53; }
};
inline constexpr FloatKind kFloat32 = {
    DType::kFloat32, DType::kInt32, DType::kUInt32, 32, 24, 127, 12};
inline constexpr FloatKind kFloat64 = {
    DType::kFloat64, DType::kInt64, DType::kUInt64, 64, 53, 1023, 27};

// Pre: a float32 or float64.
constexpr const FloatKind& KindOf(DType d) { return d == DType::kFloat64 ? kFloat64 : kFloat32; }

// function(kind, x) in float64 if that is the dtype of x, else in float32 and rounded back.
template <typename Function>
Ref InWorkingPrecision(Graph& g, Ref x, Function function) {
  const FloatKind& kind = KindOf(x->dtype);
  return function(kind, Expr(g, x).As(kind.f)).As(x->dtype).ref();
}

// The polynomial with these coefficients, lowest degree first, at x (Horner).
Expr Polynomial(Expr x, absl::Span<const double> coefficients);

// 2^n as a float. Pre: n is of kind.i and 2^n is a normal number.
Expr PowerOfTwo(const FloatKind& kind, Expr n);

// x * 2^n, rounded once. Pre: 1/2 <= |x| < 4, and n is at most twice the range of exponents.
Expr ScaleByPowerOfTwo(const FloatKind& kind, Expr x, Expr n);

// `x` with its last kind.low_bits bits cleared: short, and x - Short(x) is exact.
Expr Short(const FloatKind& kind, Expr x);
// The same for a constant; the rest is `v - ShortConstant(kind, v)`.
double ShortConstant(const FloatKind& kind, double v);

// |x|, by clearing the sign bit.
Expr Magnitude(const FloatKind& kind, Expr x);

// A value as the sum of two floats, |lo| at most about the last bit of `hi`.
struct Sum {
  Expr hi, lo;
};
// a + b exactly. Pre: a is 0 or |a| >= |b|. Source: Dekker, "A floating-point technique for
// extending the available precision", Numer. Math. 18, 1971.
Sum FastTwoSum(Expr a, Expr b);
// a + b exactly. Source: Knuth, TAOCP vol. 2, 4.2.2, theorem B.
Sum TwoSum(Expr a, Expr b);

}  // namespace kiln::codegen::internal
