// Arithmetic on floats that a target has only in memory. For the .cc files of this folder.
#pragma once

#include "core/codegen/target.h"
#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// Operations on float16, bfloat16 and fp8 that the target lacks, computed in float32 and rounded
// after each: the same values, since float32 has more than twice their bits. What only moves values
// (casts, WHERE) stays.
Ref WidenNarrowFloats(Graph& g, Ref root, const Target& target);

}  // namespace kiln::codegen::internal
