// From what the symbolic engine works on to what a target computes.
#pragma once

#include "absl/status/statusor.h"

#include "core/codegen/op_support.h"
#include "core/symbolic/simplify.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// Simplifies everything below `root`; takes operations on stacks apart; drops gates that always hold; turns gated stores behind a
// barrier into IF blocks; computes element indices in int32 where they fit; lowers dtype index to
// int32 and int64; and decomposes what `target` lacks. In: an expression, load, store or SINK of a
// kernel without reductions. Out: the same effects and values, without dtype index, and as
// Decompose says. Errors: those of Simplify and LowerIndex.
absl::StatusOr<Ref> LowerExpression(Graph& g, Ref root, const OpSupport& target,
                                    symbolic::Math math = symbolic::Math::kExact);

namespace internal {

// The last steps of LowerExpression, for a root that is simplified: element indices in int32 where
// they fit, dtype index as int32 and int64, and what `target` lacks decomposed.
absl::StatusOr<Ref> LowerArithmetic(Graph& g, Ref root, const OpSupport& target,
                                    symbolic::Math math);

}  // namespace internal
}  // namespace kiln::codegen
