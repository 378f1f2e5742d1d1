#include "core/dtype/promote.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>

#include "core/dtype/check.h"
#include "core/dtype/float_format.h"

namespace kiln::dtype {
namespace {

// A set of dtypes, one bit each.
using Set = uint32_t;
constexpr Set Only(DType d) { return Set{1} << static_cast<int>(d); }

// The dtypes directly above `d`.
constexpr Set Above(DType d) {
  const auto set = [](auto... ds) { return (Only(ds) | ...); };
  switch (d) {
    case DType::kBool:
      return set(DType::kInt8, DType::kUInt8);
    case DType::kInt8:
      return set(DType::kInt16);
    case DType::kUInt8:
      return set(DType::kInt16, DType::kUInt16);
    case DType::kInt16:
      return set(DType::kInt32);
    case DType::kUInt16:
      return set(DType::kInt32, DType::kUInt32);
    case DType::kInt32:
      return set(DType::kInt64);
    case DType::kUInt32:
      return set(DType::kInt64, DType::kUInt64);
    case DType::kInt64:
    case DType::kUInt64:
      return set(DType::kFp8E4M3, DType::kFp8E5M2);
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
      return set(DType::kFloat16, DType::kBFloat16);
    case DType::kFloat16:
    case DType::kBFloat16:
      return set(DType::kFloat32);
    case DType::kFloat32:
      return set(DType::kFloat64);
    default:
      return 0;
  }
}

// kUpper[d]: d and all above it. The enum's order is compatible with the lattice, so one pass from
// the top suffices.
constexpr std::array<Set, kNumDTypes> kUpper = [] {
  std::array<Set, kNumDTypes> upper{};
  for (int i = kNumDTypes - 1; i >= 0; --i) {
    const DType d = static_cast<DType>(i);
    upper[i] = Only(d);
    for (int j = i + 1; j < kNumDTypes; ++j) {
      if (Above(d) & Only(static_cast<DType>(j))) upper[i] |= upper[j];
    }
  }
  return upper;
}();

constexpr Set Upper(DType d) { return kUpper[static_cast<int>(d)]; }

}  // namespace

DType LeastUpperDType(absl::Span<const DType> all) {
  KILN_CHECK(!all.empty());
  const bool only_index =
      std::all_of(all.begin(), all.end(), [](DType d) { return d == DType::kIndex; });
  if (only_index) return DType::kIndex;
  Set common = ~Set{0};
  for (DType d : all) {
    KILN_CHECK(d != DType::kVoid);
    common &= Upper(d == DType::kIndex ? DType::kInt64 : d);
  }
  const DType first = static_cast<DType>(std::countr_zero(common));
  if (Upper(first) == common) return first;
  // No least one: both fp8 types are minimal, or both 16-bit floats are.
  return first == DType::kFp8E4M3 ? DType::kFloat32 : DType::kFloat16;
}

DType LeastUpperDType(DType a, DType b) { return LeastUpperDType({a, b}); }

bool IsLosslessCast(DType from, DType to) {
  KILN_CHECK(from != DType::kVoid && to != DType::kVoid);
  if (from == DType::kIndex) from = DType::kInt64;
  if (to == DType::kIndex) to = DType::kInt64;
  if (from == to || from == DType::kBool) return true;
  if (!IsFloat(from) && !IsFloat(to)) {
    return MinValue(to) <= MinValue(from) && MaxValue(from) <= MaxValue(to);
  }
  if (!IsFloat(to) || from == DType::kFp8E5M2) return false;
  const internal::FloatFormat t = internal::Format(to);
  if (!IsFloat(from)) {
    const int bits = SizeBits(from) - (IsSigned(from) ? 1 : 0);
    return bits <= t.precision && bits <= t.max_exponent;
  }
  const internal::FloatFormat f = internal::Format(from);
  return f.precision <= t.precision && f.max_exponent <= t.max_exponent &&
         t.min_exponent - t.precision <= f.min_exponent - f.precision;
}

}  // namespace kiln::dtype
