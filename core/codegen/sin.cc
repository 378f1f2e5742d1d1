// sin(x): x is reduced to r, |r| <= pi/4, and a quarter turn; then sin(r) or cos(r) is a
// polynomial.
//
// The reduction multiplies the significand of x with those bits of 2/pi that matter for the
// fraction of a turn, in integers, so it is as good for huge x as for small. Source: Payne & Hanek,
// "Radian reduction for trigonometric functions", SIGNUM Newsletter 18(1), 1983.
#include <array>
#include <limits>
#include <vector>

#include "core/codegen/coefficients.h"
#include "core/codegen/float_kind.h"
#include "core/codegen/transcendental.h"
#include "core/codegen/wide_multiply.h"

namespace kiln::codegen {
namespace internal {
namespace {

// The first 1216 bits of 2/pi after the point.
constexpr std::array<uint64_t, 19> kTwoOverPi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

constexpr double kHalfPi = 0x1.921fb54442d18p0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;  // pi/2 - kHalfPi.

// 2/pi as words of the size of the float, after one word of zeros.
std::vector<uint64_t> Table(const FloatKind& kind) {
  std::vector<uint64_t> words = {0};
  for (uint64_t word : kTwoOverPi) {
    if (!kind.is_double()) words.push_back(word >> 32);
    words.push_back(kind.is_double() ? word : word & 0xffffffff);
  }
  // The largest exponent starts in word 16 of the long table and in word 4 of the short one.
  words.resize(kind.is_double() ? 20 : 8);
  return words;
}

// 3 words of the table, from bit `offset` of it on. Pre: 0 <= offset <= 1034 (float32: 135).
std::array<Expr, 3> Window(const FloatKind& kind, Expr offset) {
  std::vector<Expr> words;
  for (uint64_t word : Table(kind)) words.push_back(offset.Const(word));
  // Moves the window by powers of two; what is beyond its reach afterwards is dropped.
  const int log_bits = kind.is_double() ? 6 : 5;
  for (size_t step = kind.is_double() ? 16 : 4; step > 0; step /= 2) {
    const Expr moves = (offset & (step << log_bits)) != 0;
    for (size_t i = 0; i < 3 + step; ++i) {
      if (i + step < words.size()) words[i] = Select(moves, words[i + step], words[i]);
    }
    words.resize(3 + step, words[0]);
  }
  const Expr left = offset & (kind.bits - 1);
  const Expr right = left ^ (kind.bits - 1);  // bits - 1 - left.
  const auto joined = [&](size_t i) { return words[i] << left | (words[i + 1] >> 1) >> right; };
  return {joined(0), joined(1), joined(2)};
}

struct Reduced {
  Expr quadrant;  // Of kind.u, modulo 4.
  Sum r;          // In radians: x = quadrant * pi/2 + r modulo whole turns.
};

// `fraction` * 2^-62 * pi/2.
Sum ToRadians(const FloatKind& kind, Sum fraction) {
  const double scale = ShortConstant(kind, kHalfPi) * 0x1p-62;
  const double scale_low = (kHalfPi - ShortConstant(kind, kHalfPi) + kHalfPiLow) * 0x1p-62;
  const Expr head = Short(kind, fraction.hi);
  const Expr tail = (fraction.hi - head) + fraction.lo;
  return FastTwoSum(head * scale, head * scale_low + tail * (kHalfPi * 0x1p-62));
}

// The nearest multiple of a quarter turn, where `turns` has units of 2^-62 quarter turns.
Expr NearestQuadrant(Expr turns) { return (turns + (uint64_t{1} << 61)) >> 62; }

Reduced ReduceFloat32(Expr significand, const std::array<Expr, 3>& window) {
  const auto wide = [](Expr v) { return v.As(DType::kUInt64); };
  const Expr m = wide(significand);
  const Expr turns =
      (m * wide(window[0]) << 32) + m * wide(window[1]) + (m * wide(window[2]) >> 32);
  const Expr quadrant = NearestQuadrant(turns);
  const Expr fraction = (turns - (quadrant << 62)).As(DType::kInt64);
  const Expr hi = fraction.As(DType::kFloat32);
  const Expr lo = (fraction - hi.As(DType::kInt64)).As(DType::kFloat32);
  return {quadrant.As(DType::kUInt32), ToRadians(kFloat32, {hi, lo})};
}

Reduced ReduceFloat64(Expr m, const std::array<Expr, 3>& window) {
  const Expr middle = m * window[1];
  const Expr low = middle + MultiplyHigh(m, window[2]);
  const Expr carry = (low < middle).As(DType::kUInt64);
  const Expr turns = m * window[0] + MultiplyHigh(m, window[1]) + carry;
  const Expr quadrant = NearestQuadrant(turns);
  const Expr high = (turns - (quadrant << 62)).As(DType::kInt64);
  // high + low * 2^-64, whose 126 bits are cut into four pieces that floats hold exactly.
  const auto piece = [](Expr v, double unit) { return v.As(DType::kFloat64) * unit; };
  const Sum upper = FastTwoSum(piece(high >> 32, 0x1p32), piece(high & 0xffffffff, 1));
  const Sum lower = FastTwoSum(piece(low >> 32, 0x1p-32), piece(low & 0xffffffff, 0x1p-64));
  // upper.lo is 0 or at least 1, which is at least lower.hi; upper.hi likewise.
  const Sum inner = FastTwoSum(upper.lo, lower.hi);
  const Sum outer = FastTwoSum(upper.hi, inner.hi);
  return {quadrant, ToRadians(kFloat64, {outer.hi, outer.lo + (inner.lo + lower.lo)})};
}

// Pre: 1/2 <= x. (Any values for infinity and NaN.)
Reduced Reduce(const FloatKind& kind, Expr x) {
  const Expr bits = x.Bits(kind.u);
  const uint64_t implicit = uint64_t{1} << kind.fraction_bits();
  const Expr significand = (bits & (implicit - 1)) | implicit;
  const Expr exponent = bits >> kind.fraction_bits();
  // x = significand * 2^e with e = exponent - bias - fraction_bits. Bits of 2/pi whose weight is
  // more than 2^(1-e) only add whole turns; bit i of the table has the weight 2^(bits-1-i).
  const Expr offset = exponent - (kind.bias + kind.fraction_bits() + 2 - kind.bits);
  const std::array<Expr, 3> window = Window(kind, offset);
  return kind.is_double() ? ReduceFloat64(significand, window) : ReduceFloat32(significand, window);
}

// sin(r.hi + r.lo) and cos(r.hi + r.lo) for |r| <= pi/4, written so that the leading term is
// rounded last.
struct SinCos {
  Expr sin, cos;
};
SinCos Evaluate(const FloatKind& kind, Sum r) {
  const Expr z = r.hi * r.hi;
  const Expr s = kind.is_double() ? Polynomial(z, kSin64) : Polynomial(z, kSin32);
  const Expr c = kind.is_double() ? Polynomial(z, kCos64) : Polynomial(z, kCos32);
  const Expr half_z = z * 0.5;
  const Expr w = 1.0 - half_z;
  const Expr lost = (1.0 - w) - half_z;
  return {.sin = r.hi + (r.hi * z * s + r.lo * w), .cos = w + (lost + (z * z * c - r.hi * r.lo))};
}

Expr Sin(const FloatKind& kind, Expr x) {
  const Expr magnitude = Magnitude(kind, x);
  const Expr small = magnitude < 0.75;  // Needs no reduction; and tiny x would lose digits in it.
  const Reduced reduced = Reduce(kind, Select(small, 0.75, magnitude));
  const SinCos of =
      Evaluate(kind, {Select(small, magnitude, reduced.r.hi), Select(small, 0.0, reduced.r.lo)});
  const Expr quadrant = Select(small, 0, reduced.quadrant);
  const Expr unsigned_result = Select((quadrant & 1) != 0, of.cos, of.sin);
  // Two quarter turns change the sign, and sin(-x) = -sin(x).
  const Expr sign =
      (quadrant << (kind.bits - 2) ^ x.Bits(kind.u)) & (uint64_t{1} << (kind.bits - 1));
  const Expr result = (unsigned_result.Bits(kind.u) ^ sign).Bits(kind.f);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return Select(magnitude < std::numeric_limits<double>::infinity(), result, kNan);
}

}  // namespace
}  // namespace internal

Ref Sin(Graph& g, Ref x) {
  return internal::InWorkingPrecision(
      g, x, [](const internal::FloatKind& kind, Expr v) { return internal::Sin(kind, v); });
}

}  // namespace kiln::codegen
