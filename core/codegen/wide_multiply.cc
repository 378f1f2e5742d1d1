#include "core/codegen/wide_multiply.h"

namespace kiln::codegen::internal {

// Source: Warren, "Hacker's Delight", 2nd edition, section 8-2.
Expr MultiplyHigh(Expr x, Expr y) {
  constexpr uint64_t kLow = 0xffffffff;
  const Expr x0 = x & kLow, x1 = x >> 32;
  const Expr y0 = y & kLow, y1 = y >> 32;
  const Expr cross = x1 * y0;
  // No sum overflows: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
  const Expr middle = x0 * y1 + (cross & kLow) + ((x0 * y0) >> 32);
  return x1 * y1 + (cross >> 32) + (middle >> 32);
}

}  // namespace kiln::codegen::internal
