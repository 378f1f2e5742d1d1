// Fewer and longer ranges. For the .cc files of this folder.
#pragma once

#include "absl/status/statusor.h"

#include "core/symbolic/simplify.h"
#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// The kernel without ranges of one turn or none: an empty reduction is its identity, a store that
// never happens goes.
Ref DropTrivialRanges(Graph& g, Ref root);

// The kernel with ranges merged, r0 * n1 + r1 -> r, where all that is computed from them needs no
// quotient or remainder that it did not need before. A merged range has the axis id of the outer
// one. In and out: simplified (Effort::kFull).
absl::StatusOr<Ref> MergeRanges(Graph& g, Ref root, symbolic::Math math);

}  // namespace kiln::codegen::internal
