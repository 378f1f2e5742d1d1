// Division by a constant as multiplication and shift.
#pragma once

#include <optional>

#include "core/dtype/int128.h"

namespace kiln::dtype {

// x / d == (x * m) >> s for every 0 <= x <= vmax.
struct Magic {
  Int128 m;
  int s;
};

// The one with the smallest s; m is 2^s / d rounded up. m may need one bit more than vmax, and x *
// m up to twice its bits. Null unless 0 <= vmax and 0 < d, or if s would exceed 126 (never if vmax
// fits int64).
std::optional<Magic> FindMagic(Int128 vmax, Int128 d);

}  // namespace kiln::dtype
