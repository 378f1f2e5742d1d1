// BITCAST between dtypes of different sizes, as integer arithmetic. For the .cc files of this folder.
#pragma once

#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::schedule::internal {

// The value of `to` whose bytes are those of `parts`, lowest first. Pre: the sizes add up.
Ref JoinBytes(Graph& g, absl::Span<const Ref> parts, DType to);

// The value of `to` at position `index` (modulo their number) among those that the bytes of `whole`
// hold, lowest first. A plain BITCAST if the sizes are equal; `index` is then not used.
Ref PartOfBytes(Graph& g, Ref whole, DType to, Ref index);

}  // namespace kiln::schedule::internal
