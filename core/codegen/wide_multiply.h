// Products wider than the widest integer. For the .cc files of this folder.
#pragma once

#include "core/codegen/expr.h"

namespace kiln::codegen::internal {

// The high 64 bits of the 128-bit product. Pre: both are uint64.
Expr MultiplyHigh(Expr x, Expr y);

}  // namespace kiln::codegen::internal
