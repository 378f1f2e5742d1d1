#include "core/dtype/magic.h"

namespace kiln::dtype {

// With e = m * d - 2^s, 0 <= e < d:  x * m / 2^s = x / d + x * e / (d * 2^s), so the floor is right
// for x iff x * e < 2^s * (d - x % d). Of all x <= vmax it is hardest for the largest with
// remainder d - 1; if there is none, all quotients are 0 and it is hardest for vmax: x * m < 2^s.
// Source: Granlund & Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994,
// section 4; Warren, "Hacker's Delight", 2nd edition, section 10-9.
std::optional<Magic> FindMagic(Int128 vmax, Int128 d) {
  if (vmax < 0 || d <= 0) return std::nullopt;
  const bool all_zero = vmax < d - 1;
  const Int128 hardest = all_zero ? vmax : vmax - (vmax - (d - 1)) % d;
  for (int s = 0; s <= 126; ++s) {
    const Int128 power = Int128{1} << s;
    const Int128 m = (power - 1) / d + 1;
    const Int128 factor = all_zero ? m : d - 1 - (power - 1) % d;  // e = m * d - 2^s
    Int128 product;
    if (!__builtin_mul_overflow(hardest, factor, &product) && product < power) return Magic{m, s};
  }
  return std::nullopt;
}

}  // namespace kiln::dtype
