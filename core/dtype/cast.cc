#include "core/dtype/cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/dtype/check.h"
#include "core/dtype/float_format.h"

namespace kiln::dtype {
namespace {

using internal::FloatFormat;
using internal::Format;

constexpr int kFractionBits = 52;  // Of a double.
constexpr uint64_t kFractionMask = (uint64_t{1} << kFractionBits) - 1;
constexpr uint64_t kInfinityBits = Format(DType::kFloat64).infinity;

constexpr double PowerOfTwo(int exponent) {  // -1022 <= exponent <= 1023
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << kFractionBits);
}

// A double from which every narrower type rounds as it would from the integer itself: exact if it
// has at most 53 bits, else cut to 53 bits of which the last is set if anything was lost (rounding
// to odd). Source: Boldo & Melquiond, "When double rounding is odd", IMACS 2005.
double RoundToOdd(bool negative, uint64_t magnitude) {
  const int lost = 64 - std::countl_zero(magnitude) - 53;
  if (lost > 0) {
    const bool inexact = (magnitude & ((uint64_t{1} << lost) - 1)) != 0;
    magnitude = ((magnitude >> lost) | (inexact ? 1 : 0)) << lost;
  }
  const double v = static_cast<double>(magnitude);
  return negative ? -v : v;
}

double IntegerToFloat(Scalar v, DType from, DType to) {
  if (from == DType::kUInt64) {
    if (to == DType::kFloat64) return static_cast<double>(v.bits());
    return RoundToFloat(RoundToOdd(false, v.bits()), to);
  }
  if (to == DType::kFloat64) return static_cast<double>(v.AsInt());
  const bool negative = v.AsInt() < 0;
  return RoundToFloat(RoundToOdd(negative, negative ? 0 - v.bits() : v.bits()), to);
}

// Truncates and saturates to a fixed-width integer; NaN gives 0.
Scalar FloatToInteger(double v, DType to) {
  if (std::isnan(v)) return Scalar::Int(0);
  // Both ends are powers of two, so exact, except that the upper one is excluded: it is max + 1.
  const double end = PowerOfTwo(SizeBits(to) - (IsSigned(to) ? 1 : 0));
  if (v >= end) return *WrapInteger(MaxValue(to), to);
  if (IsSigned(to))
    return v <= -end ? *WrapInteger(MinValue(to), to) : Scalar::Int(static_cast<int64_t>(v));
  return v <= 0 ? Scalar::Int(0) : Scalar::FromBits(static_cast<uint64_t>(v));
}

}  // namespace

double RoundToFloat(double v, DType to) {
  KILN_DCHECK(IsFloat(to));
  if (to == DType::kFloat64) return v;
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude > kInfinityBits || magnitude == 0) return v;  // NaN, zero.
  const FloatFormat f = Format(to);
  const double overflow = f.saturates ? f.max_finite : std::numeric_limits<double>::infinity();
  if (magnitude == kInfinityBits) return std::copysign(overflow, v);
  // |v| = significand * 2^(exponent - 52). A denormal double, whose exponent is wrong here, rounds
  // to 0 anyway.
  const int exponent = static_cast<int>(magnitude >> kFractionBits) - 1023;
  const uint64_t significand = (magnitude & kFractionMask) | (uint64_t{1} << kFractionBits);
  // The result is a multiple of 2^quantum; `drop` bits of the significand lie below that.
  const int quantum = std::max(exponent, f.min_exponent) - (f.precision - 1);
  const int drop = quantum - (exponent - kFractionBits);
  KILN_DCHECK(drop > 0);  // A double has more bits than all others.
  if (drop > kFractionBits + 1) return std::copysign(0.0, v);  // Below half of the smallest value.
  const uint64_t odd = (significand >> drop) & 1;
  const uint64_t half = uint64_t{1} << (drop - 1);
  const double rounded =
      static_cast<double>((significand + half - 1 + odd) >> drop) * PowerOfTwo(quantum);
  return std::copysign(rounded > f.max_finite ? overflow : rounded, v);
}

bool Represents(DType d, double v) {
  if (std::isnan(v)) return true;
  if (std::isinf(v)) return d != DType::kFp8E4M3;
  return RoundToFloat(v, d) == v;
}

double MaxFinite(DType d) {
  KILN_DCHECK(IsFloat(d));
  return Format(d).max_finite;
}

std::optional<Scalar> WrapInteger(Int128 v, DType to) {
  KILN_DCHECK(to == DType::kBool || IsInteger(to));
  if (to == DType::kBool) return Scalar::Bool(v != 0);
  if (to == DType::kIndex) {
    if (!FitsInt64(v)) return std::nullopt;
    return Scalar::Int(static_cast<int64_t>(v));
  }
  return FromBits(static_cast<uint64_t>(v), to);
}

std::optional<Scalar> Cast(Scalar v, DType from, DType to) {
  KILN_DCHECK(from != DType::kVoid && to != DType::kVoid);
  if (from == to) return v;
  if (!IsFloat(from)) {
    if (IsFloat(to)) return Scalar::Float(IntegerToFloat(v, from, to));
    return WrapInteger(v.AsWide(from), to);
  }
  const double value = v.AsFloat();
  if (IsFloat(to)) return Scalar::Float(RoundToFloat(value, to));
  if (to == DType::kBool) return Scalar::Bool(value != 0);
  if (to == DType::kIndex) {
    const bool fits = value >= -PowerOfTwo(63) && value < PowerOfTwo(63);  // Not if NaN.
    if (!fits) return std::nullopt;
    return Scalar::Int(static_cast<int64_t>(value));
  }
  return FloatToInteger(value, to);
}

std::optional<Scalar> Bitcast(Scalar v, DType from, DType to) {
  if (SizeBits(from) == 0 || SizeBits(from) != SizeBits(to)) return std::nullopt;
  if (from == to) return v;
  return FromBits(ToBits(v, from), to);
}

uint64_t ToBits(Scalar v, DType d) {
  KILN_DCHECK(SizeBits(d) != 0);
  if (!IsFloat(d))
    return SizeBits(d) == 64 ? v.bits() : v.bits() & ((uint64_t{1} << SizeBits(d)) - 1);
  const FloatFormat f = Format(d);
  const double value = v.AsFloat();
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (SizeBits(d) - 1) : 0;
  if (std::isnan(value)) return f.nan;
  if (std::isinf(value)) return sign | f.infinity;
  if (d == DType::kFloat64) return v.bits();
  const double magnitude = std::fabs(value);
  const int fraction_bits = f.precision - 1;
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> kFractionBits) - 1023;
  if (exponent < f.min_exponent) {  // Zero or denormal: a multiple of the smallest value.
    return sign | static_cast<uint64_t>(magnitude * PowerOfTwo(fraction_bits - f.min_exponent));
  }
  const uint64_t field = static_cast<uint64_t>(exponent - f.min_exponent + 1) << fraction_bits;
  const uint64_t fraction = std::bit_cast<uint64_t>(magnitude) & kFractionMask;
  return sign | field | (fraction >> (kFractionBits - fraction_bits));
}

Scalar FromBits(uint64_t bits, DType d) {
  KILN_DCHECK(SizeBits(d) != 0);
  const int width = SizeBits(d);
  const uint64_t low = width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
  if (d == DType::kBool) return Scalar::Bool(low != 0);
  if (!IsFloat(d)) {
    if (!IsSigned(d)) return Scalar::FromBits(low);
    return Scalar::Int(static_cast<int64_t>(low << (64 - width)) >> (64 - width));
  }
  if (d == DType::kFloat64) return Scalar::Float(std::bit_cast<double>(low));
  const FloatFormat f = Format(d);
  const uint64_t sign = low >> (width - 1);
  const uint64_t magnitude = low & ((uint64_t{1} << (width - 1)) - 1);
  const int fraction_bits = f.precision - 1;
  double value;
  if (magnitude >= f.infinity) {
    value = magnitude == f.infinity && f.infinity != f.nan
                ? std::numeric_limits<double>::infinity()
                : std::numeric_limits<double>::quiet_NaN();
  } else if (magnitude >> fraction_bits == 0) {
    value = static_cast<double>(magnitude) * PowerOfTwo(f.min_exponent - fraction_bits);
  } else {
    const int exponent = static_cast<int>(magnitude >> fraction_bits) - 1 + f.min_exponent;
    const uint64_t fraction = magnitude & ((uint64_t{1} << fraction_bits) - 1);
    value = std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << kFractionBits |
                                  fraction << (kFractionBits - fraction_bits));
  }
  return Scalar::Float(sign != 0 ? -value : value);
}

}  // namespace kiln::dtype
