// Reductions side by side. For the .cc files of this folder.
#pragma once

#include "core/uop/graph.h"

namespace kiln::schedule::internal {

// The kernel in which reductions over axes of the same sizes, none of which needs another's result, are over the
// same ranges: they can share one loop, and what both read is read once.
Ref ShareLoops(Graph& g, Ref sink);

}  // namespace kiln::schedule::internal
