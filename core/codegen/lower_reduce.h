// Reductions as accumulators and loops, and the loops of stores. For the .cc files of this folder.
#pragma once

#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::codegen::internal {

struct Accumulators {
  int64_t first_number = 0;  // Of their PARAMs.
  int32_t vector_axis = -1;  // Axis id of the lane range that is contiguous in an accumulator.
};

// The kernel with its loops closed by ENDs, each ending one loop.
//
// REDUCE over loops becomes an accumulator in the register space: a STORE of the identity before the
// loops, one of accumulator op value inside them, and a LOAD after their END. It has an element for
// each combination of the lanes that the value has and those that are reduced, so that what is left
// after the loops is one REDUCE over lanes. Reductions over the same ranges, at the same place and
// independent of each other, share their loops; where they cannot, one gets ranges of its own. A
// reduction over lanes only stays. Floats narrower than float32 accumulate in float32 and are rounded
// once.
//
// A node is in the loops that RangesOf says: where it does not compute from the counter of a loop
// that it must be in, it is AFTER(param, effects..., range).
Ref LowerReductions(Graph& g, Ref root, const Accumulators& accumulators);

}  // namespace kiln::codegen::internal
