// Division by constants.
//
// x / d is (x * m) >> s for a suitable m, about 2^s / d, on a range of x. The product needs up to
// twice the bits of x and one more, so it is computed in the narrowest type that holds it; where
// none does, its high half is put together from parts. Source: Granlund & Montgomery, "Division by
// Invariant Integers using Multiplication", PLDI 1994; Warren, "Hacker's Delight", 2nd edition,
// chapter 10.
#include <algorithm>
#include <bit>
#include <optional>

#include "core/codegen/decompositions.h"
#include "core/codegen/wide_multiply.h"
#include "core/dtype/magic.h"

namespace kiln::codegen::internal {
namespace {

using dtype::Magic;

constexpr Int128 kTwo32 = Int128{1} << 32, kTwo64 = Int128{1} << 64;

bool IsPowerOfTwo(Int128 v) { return (v & (v - 1)) == 0; }
// Pre: 0 < v < 2^64.
int TrailingZeros(Int128 v) { return std::countr_zero(static_cast<uint64_t>(v)); }

// The first of `d` and the two wide types that holds x * m for every |x| <= limit of dtype `d`.
std::optional<DType> ProductType(DType d, Int128 m, Int128 limit, DType wide, DType widest) {
  for (DType candidate : {d, wide, widest}) {
    if (dtype::SizeBits(candidate) >= dtype::SizeBits(d) &&
        m <= dtype::MaxValue(candidate) / limit) {
      return candidate;
    }
  }
  return std::nullopt;
}

// x / d as the number of multiples of d up to x. Pre: 0 <= x <= limit < 4 * d.
Expr CountMultiples(Expr x, Int128 limit, Int128 d) {
  Expr count = x.Const(0);
  for (Int128 multiple = d; multiple <= limit; multiple += d) {
    count = count + (!(x < static_cast<uint64_t>(multiple))).As(x.dtype());
  }
  return count;
}

// Pre: 0 <= x <= limit, 1 < d <= limit < 2^64, and d is not a power of two.
Expr DivideNonNegative(Expr x, Int128 limit, Int128 d) {
  const std::optional<Magic> magic = dtype::FindMagic(limit, d);
  if (!magic.has_value()) return CountMultiples(x, limit, d);  // d > 2^62.
  const auto [m, s] = *magic;
  if (const std::optional<DType> wide =
          ProductType(x.dtype(), m, limit, DType::kUInt32, DType::kUInt64)) {
    return ((x.As(*wide) * static_cast<uint64_t>(m)) >> s).As(x.dtype());
  }
  const Expr y = x.As(DType::kUInt64);
  const auto high = [&](Int128 factor) {
    return MultiplyHigh(y, y.Const(static_cast<uint64_t>(factor)));
  };
  if (limit < kTwo32) {  // m has 33 bits: the product without its top bit, plus that.
    const Expr low = (y * static_cast<uint64_t>(m - kTwo32)) >> 32;
    return ((low + y) >> (s - 32)).As(x.dtype());
  }
  if (m < kTwo64) {
    return (s <= 64 ? high(m << (64 - s)) : high(m) >> (s - 64)).As(x.dtype());
  }
  // m has 65 bits: an even divisor can do with fewer; else the sum is halved before it overflows.
  if (const int zeros = TrailingZeros(d); zeros > 0) {
    return DivideNonNegative(x >> zeros, limit >> zeros, d >> zeros);
  }
  const Expr low = high(m - kTwo64);
  return ((((y - low) >> 1) + low) >> (s - 65)).As(x.dtype());
}

// Pre: -limit <= x <= limit, 1 < d <= limit, x may be negative, and d is not a power of two.
Expr DivideSigned(Expr x, Int128 limit, Int128 d) {
  const Expr negative = x < 0;
  const Magic magic = *dtype::FindMagic(limit, d);  // limit <= 2^63.
  if (const std::optional<DType> wide =
          ProductType(x.dtype(), magic.m, limit, DType::kInt32, DType::kInt64)) {
    // The shift rounds down, and the product is never an integer multiple of 2^s but for 0: one too
    // low for every negative x.
    const Expr product = x.As(*wide) * static_cast<int64_t>(magic.m);
    return (product >> magic.s).As(x.dtype()) + negative.As(x.dtype());
  }
  const Expr magnitude = Select(negative, -x, x).As(DType::kUInt64);
  const Expr quotient = DivideNonNegative(magnitude, limit, d).As(x.dtype());
  return Select(negative, -quotient, quotient);
}

// x for x >= 0 and x + 2^k - 1 for x < 0: what rounds toward zero when its last k bits are dropped.
Expr BiasForTruncation(Expr x, Int128 lo, int k) {
  if (lo >= 0) return x;
  const int sign_bit = dtype::SizeBits(x.dtype()) - 1;
  return x + ((x >> sign_bit) & ((uint64_t{1} << k) - 1));
}

struct Range {
  Int128 lo, limit;  // x >= lo and |x| <= limit.
};
Range RangeOf(Graph& g, Ref x) {
  const Bounds b = SafeBoundsOf(g, x);
  return {b.lo, std::max(-b.lo, b.hi)};
}

// Pre: d > 0.
Expr Divide(Expr x, Range range, Int128 d) {
  if (d == 1) return x;
  if (d > range.limit) return x.Const(0);
  if (IsPowerOfTwo(d)) {
    const int k = TrailingZeros(d);
    return BiasForTruncation(x, range.lo, k) >> k;
  }
  return range.lo >= 0 ? DivideNonNegative(x, range.limit, d) : DivideSigned(x, range.limit, d);
}

}  // namespace

Ref DivideByConstant(Graph& g, Ref x, Int128 d) {
  const Expr e(g, x);
  if (d == 0) return e.Const(0).ref();
  const Expr quotient = Divide(e, RangeOf(g, x), d < 0 ? -d : d);
  return (d < 0 ? -quotient : quotient).ref();
}

Ref RemainderByConstant(Graph& g, Ref x, Int128 d) {
  const Expr e(g, x);
  const Range range = RangeOf(g, x);
  if (d < 0) d = -d;  // The remainder has the sign of x.
  if (d == 0 || d > range.limit) return x;
  if (IsPowerOfTwo(d)) {
    const uint64_t mask = static_cast<uint64_t>(d) - 1;
    if (range.lo >= 0) return (e & mask).ref();
    return (e - (BiasForTruncation(e, range.lo, TrailingZeros(d)) & ~mask)).ref();
  }
  return (e - Divide(e, range, d) * static_cast<uint64_t>(d)).ref();
}

}  // namespace kiln::codegen::internal
