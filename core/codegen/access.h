// Memory safety of a kernel.
#pragma once

#include "absl/status/status.h"

#include "core/uop/graph.h"

namespace kiln::codegen {

// OK if every load and store below `root` is provably inside its buffer (ParamOf(..).elems)
// whenever it happens: given the gate of its INDEX, the gate of a gated STORE, and the conditions
// of the IF blocks that it is in. (A node is in the block of every IF that it depends on, unless an
// ENDIF lies between.) A buffer of unknown size (-1) holds any index >= 0. InvalidArgument names
// the node, the range of its index and the size of the buffer.
absl::Status CheckAccesses(Graph& g, Ref root);

}  // namespace kiln::codegen
