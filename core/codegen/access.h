// Memory safety of a kernel.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::codegen {

// OK if every load and store below `root` is provably inside its buffer (ParamOf(..).elems)
// whenever it happens: given the gate of its INDEX, the gate of a gated STORE, and the conditions
// of the IF blocks that it is in. (A node is in the block of every IF that it depends on, unless an
// ENDIF lies between.) A buffer of unknown size (-1) holds any index >= 0. InvalidArgument names
// the node, the range of its index and the size of the buffer.
absl::Status CheckAccesses(Graph& g, Ref root);

// `root` with a gate on each load and store that cannot be proven as above: a comparison of its index
// with the size of its buffer. Offsets may be symbolic, and right for some values of their variables
// only. A load that is gated off gives zero. Pre: no IF blocks.
absl::StatusOr<Ref> GateAccesses(Graph& g, Ref root);

}  // namespace kiln::codegen
