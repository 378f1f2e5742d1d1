// Values with a shape, one element at a time.
#pragma once

#include "core/uop/graph.h"

namespace kiln::symbolic {

// [a, b] op [c, d] -> [a op c, b op d], and [a, b] op c -> [a op c, b op c]. Null unless every source of `n` is a STACK of as many
// elements or a scalar, and one is a STACK. Pre: `n` is elementwise and has sources.
Ref PerElement(Graph& g, Ref n);

}  // namespace kiln::symbolic
