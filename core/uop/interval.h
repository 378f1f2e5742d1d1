// Arithmetic on intervals of integers, saturating at Bounds::kNegInf and kPosInf. An end that is
// infinite stays so, and no other operation overflows. For bounds.cc.
#pragma once

#include <algorithm>

#include "core/uop/facts.h"

namespace kiln::uop::internal {

constexpr Int128 Saturate(Int128 v) { return std::clamp(v, Bounds::kNegInf, Bounds::kPosInf); }

constexpr Bounds Add(Bounds a, Bounds b) {
  const bool no_lo = a.lo == Bounds::kNegInf || b.lo == Bounds::kNegInf;
  const bool no_hi = a.hi == Bounds::kPosInf || b.hi == Bounds::kPosInf;
  return {no_lo ? Bounds::kNegInf : Saturate(a.lo + b.lo),
          no_hi ? Bounds::kPosInf : Saturate(a.hi + b.hi)};
}

constexpr Bounds Negate(Bounds a) { return {-a.hi, -a.lo}; }
constexpr Bounds Sub(Bounds a, Bounds b) { return Add(a, Negate(b)); }

// |a|, |b| <= kPosInf.
constexpr Int128 SaturatingMul(Int128 a, Int128 b) {
  Int128 product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? Bounds::kPosInf : Bounds::kNegInf;
  }
  return Saturate(product);
}

// The hull of op at the four corners.
template <typename Op>
constexpr Bounds Corners(Bounds a, Bounds b, Op op) {
  const auto [lo, hi] =
      std::minmax({op(a.lo, b.lo), op(a.lo, b.hi), op(a.hi, b.lo), op(a.hi, b.hi)});
  return {lo, hi};
}

constexpr Bounds Mul(Bounds a, Bounds b) { return Corners(a, b, SaturatingMul); }

// Truncated quotient. Infinite by infinite is 0: another corner is infinite then. b != 0.
constexpr Int128 SaturatingDiv(Int128 a, Int128 b) {
  const bool a_infinite = a == Bounds::kPosInf || a == Bounds::kNegInf;
  const bool b_infinite = b == Bounds::kPosInf || b == Bounds::kNegInf;
  if (b_infinite) return 0;
  if (a_infinite) return (a < 0) == (b < 0) ? Bounds::kPosInf : Bounds::kNegInf;
  return a / b;
}

constexpr Bounds Max(Bounds a, Bounds b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }
constexpr Bounds Hull(Bounds a, Bounds b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

// v * 2^k and floor(v / 2^k). k >= 0.
constexpr Int128 SaturatingShl(Int128 v, Int128 k) {
  if (v == 0) return 0;
  return SaturatingMul(v, k >= 124 ? Bounds::kPosInf : Int128{1} << static_cast<int>(k));
}
constexpr Int128 SaturatingShr(Int128 v, Int128 k) {
  if (v == Bounds::kPosInf || v == Bounds::kNegInf) return v;
  return v >> static_cast<int>(std::min<Int128>(k, 126));
}

}  // namespace kiln::uop::internal
