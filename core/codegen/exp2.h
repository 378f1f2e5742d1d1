// 2^x for callers that know x to more than its type's precision. For the .cc files of this folder.
#pragma once

#include <optional>

#include "core/codegen/float_kind.h"

namespace kiln::codegen::internal {

// 2^(x + low). NaN if x is; 0 and infinity where the result leaves the type. Pre: x is of kind.f,
// and where |x| is at most twice the largest exponent, |low| is below 1/64.
Expr Exp2(const FloatKind& kind, Expr x, std::optional<Expr> low = std::nullopt);

}  // namespace kiln::codegen::internal
