// Wide integers for intermediate results: the sum and product of any two int64 values fit.
// NOTE: the product of two uint64 values may not.
#pragma once

#include <cstdint>
#include <string>

namespace kiln {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

inline constexpr Int128 kInt128Max = static_cast<Int128>(~UInt128{0} >> 1);
inline constexpr Int128 kInt128Min = -kInt128Max - 1;

constexpr bool FitsInt64(Int128 v) { return v >= INT64_MIN && v <= INT64_MAX; }

// Decimal digits, with a leading '-' if negative.
std::string ToString(Int128 v);

}  // namespace kiln
