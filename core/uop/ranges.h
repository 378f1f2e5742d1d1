// The RANGE nodes of a kernel. (Those of one node that are open: RangesOf in facts.h.)
#pragma once

#include <vector>

#include "core/uop/graph.h"

namespace kiln::uop {

// Whether the value of `n` depends on the range: it is among RangesOf.
bool DependsOn(Graph& g, Ref n, Ref range);

// The RANGE nodes below `root`, by axis id: outer loops first.
std::vector<Ref> RangesBelow(Ref root);

}  // namespace kiln::uop
