// Gated stores and barriers. For the .cc files of this folder.
#pragma once

#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// A gated store whose value is loaded after a barrier: everything after the barrier is only for the
// store, so it goes into an IF block with the gate as its condition, and the barrier, which all
// threads must reach, stays outside: LOAD(place, other, BARRIER) becomes LOAD(place, other,
// IF(gate, BARRIER)). The store, which depends on the block and so is in it, needs its gate no
// more. (ENDIF is the linearizer's to put.) Null if there is no gate or no such load. Costs the
// nodes between the store and its barriers.
Ref StoreInBlock(Graph& g, Ref store);

// The store without its gate, if it is in an IF block with that condition; else null.
Ref WithoutGateOfBlock(Graph& g, Ref store);

}  // namespace kiln::codegen::internal
