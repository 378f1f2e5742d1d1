// Simplification under conditions: what an index expression is worth when its access is valid.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::symbolic {

// `n` simplified, given that the bool expression `condition` (often a conjunction) is true. Equal
// to `n` wherever it is. Null if `condition` is never true.
absl::StatusOr<Ref> SimplifyGiven(Graph& g, Ref n, Ref condition);

// A conjunction whose clauses are each simplified given those before it; duplicates and clauses
// that always hold are dropped; false if it never holds. The same node if nothing changed.
absl::StatusOr<Ref> SimplifyConjunction(Graph& g, Ref condition);

}  // namespace kiln::symbolic
