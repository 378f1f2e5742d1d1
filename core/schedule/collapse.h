// Reductions that need no loop. For the .cc files of this folder.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::schedule::internal {

// REDUCE{op}(body, ranges...), with as few ranges as closed forms leave: what does not depend on a
// range is added up by a product; a sum of what a comparison with the range selects is a count or
// the one element selected (arange built as a cumulative sum, one-hot products, masks). Accesses of
// the selected element are gated. Just the value if no range is left.
// A product with a selection counts as a selection: 0 * inf is 0 there.
absl::StatusOr<Ref> CollapsedReduce(Graph& g, Op op, Ref body, absl::Span<const Ref> ranges);

}  // namespace kiln::schedule::internal
