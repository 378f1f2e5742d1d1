// One value of some DType. The dtype travels beside it (in the node, in the call), not in it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype/dtype.h"

namespace kiln::dtype {

// Immutable. 64 bits in canonical form, so that equal values of one dtype have equal bits:
// - bool: 0 or 1; signed integers and index: sign-extended; unsigned integers: zero-extended
// (uint64 as its bit pattern);
// - floats of every width: the double of exactly that value; every NaN is the one quiet NaN; -0.0
// differs from 0.0.
class Scalar {
 public:
  constexpr Scalar() = default;
  static constexpr Scalar FromBits(uint64_t bits) { return Scalar(bits); }
  // The caller promises that `v` is in canonical form for its dtype; `Cast` and `WrapInteger`
  // (cast.h) make it so.
  static constexpr Scalar Int(int64_t v) { return Scalar(static_cast<uint64_t>(v)); }
  static constexpr Scalar Bool(bool v) { return Scalar(v ? 1 : 0); }
  static constexpr Scalar Float(double v) {
    return Scalar(std::bit_cast<uint64_t>(v == v ? v : std::numeric_limits<double>::quiet_NaN()));
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr int64_t AsInt() const { return static_cast<int64_t>(bits_); }
  constexpr double AsFloat() const { return std::bit_cast<double>(bits_); }
  constexpr bool AsBool() const { return bits_ != 0; }
  // The mathematical value of a bool, integer or index scalar.
  constexpr Int128 AsWide(DType d) const {
    return d == DType::kUInt64 ? Int128{bits_} : Int128{AsInt()};
  }

  friend constexpr bool operator==(Scalar, Scalar) = default;

 private:
  explicit constexpr Scalar(uint64_t bits) : bits_(bits) {}
  uint64_t bits_ = 0;
};

}  // namespace kiln::dtype

namespace kiln {
using dtype::Scalar;
}  // namespace kiln
