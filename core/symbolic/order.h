// A total order of nodes by structure, the same in every process: what decides which operand stands
// left.
#pragma once

#include "core/uop/graph.h"

namespace kiln::symbolic {

// Negative, zero or positive: by rank of the op (variables first, constants last), then arg, dtype,
// tag, and sources from the first to the last. Zero only for the same node. Both nodes are of the
// same graph. Costs the depth at which they differ.
int Compare(Ref a, Ref b);

}  // namespace kiln::symbolic
