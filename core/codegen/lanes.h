// Lane ranges in element indices. For the .cc files of this folder.
#pragma once

#include <cstdint>

#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// Axis id of the lane range that makes the best machine vector: the one that takes the fewest
// instructions; -1 if there is none whose size is a power of two.
int32_t ChooseVectorAxis(Graph& g, Ref root);

// The kernel with element indices as sums in an order that codegen/program.h describes: what
// changes in outer loops first, then inner ones, then `lane * constant`, then the constant. So the
// first part is computed outside of the inner loops, and a backend sees strides.
Ref SplitElementIndices(Graph& g, Ref root);

}  // namespace kiln::codegen::internal
