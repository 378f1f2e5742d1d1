// From a graph to a list of instructions. For the .cc files of this folder.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// LINEAR(instructions...) of a kernel whose loops are closed by ENDs: see core/codegen/program.h.
// A node stands in the innermost loop that it depends on, before the loops that need it, as late as
// the order of the sources of its users says: what is computed is used soon. Loads of a buffer that
// is also stored to come before the stores. Internal if a loop does not end once.
absl::StatusOr<Ref> Linearize(Graph& g, Ref root);

}  // namespace kiln::codegen::internal
