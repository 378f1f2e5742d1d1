// Conditions on loaded values as gates of the loads. For the .cc files of this folder.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// WHERE(p, LOAD(place), c), for a constant c and a condition p of indices, becomes a load gated by
// p with c as its alternative, so that what is not needed is not read and an index may be
// simplified under p.
absl::StatusOr<Ref> GateLoads(Graph& g, Ref root);

}  // namespace kiln::codegen::internal
