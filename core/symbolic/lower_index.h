// Index arithmetic to machine integers.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::symbolic {

// The graph below `n` with every index-dtype node lowered: to int32 where the bounds of the node
// and of its index operands fit it, else to int64. Casts appear only where the two meet;
// comparisons are made in the wider of their operands, and places take an element index of either.
// A counter has the dtype that its end needs, a variable that of its bounds. The values are the
// same wherever no index value leaves int64; an index made by a cast is taken to keep to that. The
// element index of a gated access is lowered by its bounds where the gate holds; where it does not,
// the index may be anything.
// InvalidArgument naming the node whose bounds do not fit int64.
absl::StatusOr<Ref> LowerIndex(Graph& g, Ref n);

}  // namespace kiln::symbolic
