// What can be derived from a node: bounds, shape, ranges, key. Computed when first asked for, then
// kept with the node. None of these functions recurses: graphs come from strangers and are deep.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"
#include "core/uop/key.h"

namespace kiln::uop {

// An interval of integers, both ends inclusive, lo <= hi. kNegInf and kPosInf stand for "no bound"
// (dtype index).
struct Bounds {
  static constexpr Int128 kPosInf = Int128{1} << 124;
  static constexpr Int128 kNegInf = -kPosInf;
  Int128 lo = kNegInf;
  Int128 hi = kPosInf;

  constexpr bool IsPoint() const { return lo == hi; }
  constexpr bool Contains(Int128 v) const { return lo <= v && v <= hi; }
  constexpr bool Contains(Bounds b) const { return lo <= b.lo && b.hi <= hi; }
  friend constexpr bool operator==(Bounds, Bounds) = default;
};

// An interval of floats. NaN is never inside; only a node that can't be NaN has an end that is not
// infinite.
struct FloatBounds {
  double lo, hi;
};

// Arena-allocated. Each part is valid once its bit in `have` is set.
struct Facts {
  enum Have : uint8_t { kHaveBounds = 1, kHaveShape = 2, kHaveRanges = 4, kHaveKey = 8 };
  uint8_t have = 0;
  // The value is congruent to an integer within `bounds`, modulo 2^bits of the dtype.
  bool bounds_modular = true;
  uint16_t rank = 0;
  uint32_t num_ranges = 0;
  union {
    Bounds bounds;
    FloatBounds float_bounds;
  };
  const Ref* shape = nullptr;   // `rank` dims.
  const Ref* ranges = nullptr;  // `num_ranges` RANGE nodes, by id.
  Key key;
  Facts() : bounds{} {}
};

namespace internal {
const Facts& ComputeBounds(Graph& g, Ref n);
}  // namespace internal

// Smallest and largest value, by interval arithmetic on the sources' bounds (not always tight). A
// bool is within [0, 1]. Pre: the dtype is neither void nor a float.
//
// NOTE: the arithmetic is that of mathematical integers, as in the fixtures. On fixed-width dtypes
// the bounds of a + b may lie outside the dtype, where the value wraps; those of a cast are clipped
// to the dtype, where the value wraps. Whoever decides something by the bounds of a node that is
// not `index` uses SafeBoundsOf, or asks BoundsHold.
inline const Bounds& BoundsOf(Graph& g, Ref n) {
  if (n->facts != nullptr && (n->facts->have & Facts::kHaveBounds) != 0) return n->facts->bounds;
  return internal::ComputeBounds(g, n).bounds;
}
inline Int128 VMin(Graph& g, Ref n) { return BoundsOf(g, n).lo; }
inline Int128 VMax(Graph& g, Ref n) { return BoundsOf(g, n).hi; }

// Whether the value of `n`, computed with wraparound, always lies within BoundsOf. Always true on
// index. Sums and products forgive an overflow further down: on int8, `x + 100 + -100` holds for
// 0 <= x <= 100, but `(x + 100) / 2` and `x + 100 < 3` do not.
bool BoundsHold(Graph& g, Ref n);
// Within the dtype: BoundsOf if they hold, else all values.
Bounds SafeBoundsOf(Graph& g, Ref n);
// All values of a dtype; of index, every integer. Pre: neither void nor a float.
constexpr Bounds FullBounds(DType d) {
  if (d == DType::kIndex || d == DType::kVoid || dtype::IsFloat(d)) return {};
  return {dtype::MinValue(d), dtype::MaxValue(d)};
}

// The same for floats. Pre: the dtype is a float.
inline const FloatBounds& FloatBoundsOf(Graph& g, Ref n) {
  if (n->facts != nullptr && (n->facts->have & Facts::kHaveBounds) != 0) {
    return n->facts->float_bounds;
  }
  return internal::ComputeBounds(g, n).float_bounds;
}

// The dims of the value of `n`: index-dtype nodes, outermost first; empty for a scalar and for an
// effect. A place (INDEX) has the shape of its element index: one place per element. Elementwise
// ops take sources of one shape, and scalars, which go with any (the tensor level is stricter: see
// its spec). Two dims are equal if they are the same node; sums with constants are put in one form
// first. InvalidArgument names the node whose sources don't fit; FailedPrecondition a CALL, whose
// shape only the function library knows.
absl::StatusOr<absl::Span<const Ref>> ShapeOf(Graph& g, Ref n);

// The RANGE nodes that `n` depends on and that have not ended below it, by id: what END, REDUCE and
// STORE list ends there, and lanes (kUpcast, kUnroll) end at a STORE.
// Costs nodes times ranges: for kernels, which have few.
absl::Span<const Ref> RangesOf(Graph& g, Ref n);

// Where the memory under a place or buffer lies; null for values.
std::optional<AddressSpace> AddressSpaceOf(Ref n);

// 128 bits that depend on op, dtype, tag, arg and sources of everything below `n`, and on nothing
// else: equal in every process and on every machine. Not proof against an adversary who looks for
// collisions: caches shared between strangers compare the compact form as well.
const Key& KeyOf(Graph& g, Ref n);

}  // namespace kiln::uop

namespace kiln {
using uop::Bounds;
using uop::BoundsHold;
using uop::BoundsOf;
using uop::SafeBoundsOf;
using uop::VMax;
using uop::VMin;
}  // namespace kiln
