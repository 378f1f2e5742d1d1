#include <array>

#include "core/codegen/decompositions.h"

namespace kiln::codegen::internal {
namespace {

// Whether bit `i` of x is set.
Expr HasBit(Expr x, int i) { return (x & (uint64_t{1} << i)) != 0; }

// x with step(x, 2^i) applied for each bit i of `count` that is set. Pre: 0 <= count < width of x.
template <typename Step>
Expr ForEachBit(Expr x, Expr count, Step step) {
  for (int i = 0; (1 << i) < dtype::SizeBits(x.dtype()); ++i) {
    x = Select(HasBit(count, i), step(x, 1 << i), x);
  }
  return x;
}

// Whether 0 <= count < width.
Expr InRange(Expr count) {
  const DType d = dtype::SizeBits(count.dtype()) == 64 ? DType::kUInt64 : DType::kUInt32;
  return count.As(d) < dtype::SizeBits(count.dtype());
}

// x >> n for a constant 0 <= n < width, rounding down: of a negative x, the complement is shifted.
Expr ShiftRightBy(Expr x, int n) {
  if (n == dtype::SizeBits(x.dtype()) - 1 && dtype::IsSigned(x.dtype()))
    return -(x < 0).As(x.dtype());
  const uint64_t divisor = uint64_t{1} << n;
  if (!dtype::IsSigned(x.dtype())) return x / divisor;
  const Expr sign = -(x < 0).As(x.dtype());  // All bits of it.
  return ((x ^ sign) / divisor) ^ sign;
}

}  // namespace

Ref ShiftLeft(Graph& g, Ref x, Ref count) {
  const Expr e(g, x), n(g, count);
  const int width = dtype::SizeBits(x->dtype);
  if (count->IsConst()) {
    const Int128 v = count->arg.scalar().AsWide(count->dtype);
    const bool in_range = v >= 0 && v < width;
    return (in_range ? e * (uint64_t{1} << static_cast<int>(v)) : e.Const(0)).ref();
  }
  const auto step = [](Expr v, int by) { return v * (uint64_t{1} << by); };
  return Select(InRange(n), ForEachBit(e, n, step), 0).ref();
}

Ref ShiftRight(Graph& g, Ref x, Ref count) {
  const Expr e(g, x), n(g, count);
  const int width = dtype::SizeBits(x->dtype);
  const Expr out_of_range = dtype::IsSigned(x->dtype) ? ShiftRightBy(e, width - 1) : e.Const(0);
  if (count->IsConst()) {
    const Int128 v = count->arg.scalar().AsWide(count->dtype);
    const bool in_range = v >= 0 && v < width;
    return (in_range ? ShiftRightBy(e, static_cast<int>(v)) : out_of_range).ref();
  }
  return Select(InRange(n), ForEachBit(e, n, ShiftRightBy), out_of_range).ref();
}

Ref IntegerPow(Graph& g, Ref x, Ref y) {
  const Expr base(g, x), exponent(g, y);
  Expr result = base.Const(1), square = base;
  for (int i = 0; i < dtype::SizeBits(x->dtype); ++i) {
    result = Select(HasBit(exponent, i), result * square, result);
    square = square * square;
  }
  if (!dtype::IsSigned(x->dtype)) return result.ref();
  // 1 / x^-y is 0 unless x is 1 or -1.
  const Expr sign = Select(HasBit(exponent, 0), base, 1);
  const Expr fraction = Select(Equal(base, 1) | Equal(base, -1), sign, 0);
  return Select(exponent < 0, fraction, result).ref();
}

// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
Ref Threefry(Graph& g, Ref counter, Ref key) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const auto low = [&](Ref v) { return Expr(g, v).As(DType::kUInt32); };
  const auto high = [&](Ref v) { return (Expr(g, v) >> 32).As(DType::kUInt32); };
  const std::array<Expr, 3> keys = {low(key), high(key), low(key) ^ high(key) ^ 0x1BD11BDA};
  Expr x0 = low(counter) + keys[0], x1 = high(counter) + keys[1];
  for (int round = 0; round < 20; ++round) {
    const int rotation = kRotations[round % 8];
    x0 = x0 + x1;
    x1 = ((x1 << rotation) | (x1 >> (32 - rotation))) ^ x0;
    if (round % 4 != 3) continue;
    const size_t injection = static_cast<size_t>(round / 4 + 1);
    x0 = x0 + keys[injection % 3];
    x1 = x1 + keys[(injection + 1) % 3] + injection;
  }
  return (x1.As(DType::kUInt64) << 32 | x0.As(DType::kUInt64)).ref();
}

}  // namespace kiln::codegen::internal
