// Tensors on several devices. For the .cc files of this folder.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::schedule::internal {

// The graph without SHARD, UNSHARD and ALLREDUCE: each piece of a sharded tensor is a tensor of its
// own, and what moves between devices is a COPY. A reduction along the axis of the pieces is one on
// each device, followed by an exchange of the results. Outputs are put together on the first device.
// InvalidArgument: see tensor::PlacementOf.
absl::StatusOr<Ref> LowerShards(Graph& g, Ref sink);

}  // namespace kiln::schedule::internal
