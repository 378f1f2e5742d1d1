// Values with a shape, one element at a time.
#pragma once

#include "core/uop/graph.h"

namespace kiln::symbolic {

// [a, b] op [c, d] -> [a op c, b op d]. Null unless every source of `n` is a STACK of as many elements. Pre: `n` is elementwise and has
// sources.
Ref PerElement(Graph& g, Ref n);

}  // namespace kiln::symbolic
