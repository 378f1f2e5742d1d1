// The pieces of a logarithm. For the .cc files of this folder.
#pragma once

#include "core/codegen/float_kind.h"

namespace kiln::codegen::internal {

// x = m * 2^e with sqrt(1/2) <= m < sqrt(2), for every finite x > 0. Any values for other x.
struct Scaled {
  Expr m;
  Expr e;  // An integer, as a float.
};
Scaled SplitExponent(const FloatKind& kind, Expr x);

inline constexpr double kLog2E = 0x1.71547652b82fep0;
inline constexpr double kLog2ELow = 0x1.777d0ffda0d24p-56;  // log2(e) - kLog2E.

}  // namespace kiln::codegen::internal
