// Sizes of axes as index expressions, in one form where that is cheap: constants folded, a constant
// last. For shape.cc.
#pragma once

#include "core/uop/graph.h"

namespace kiln::uop::internal {

// a + b and a - b. Null if a constant leaves int64.
Ref DimSum(Graph& g, Ref a, Ref b);
Ref DimDifference(Graph& g, Ref a, Ref b);

// dim * num / den, both powers of two. Null if that is not a known integer.
Ref DimScaled(Graph& g, Ref dim, int num, int den);

}  // namespace kiln::uop::internal
