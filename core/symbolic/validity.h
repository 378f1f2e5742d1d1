// Simplification under conditions: what an index expression is worth when its access is valid.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::symbolic {

// `n` simplified, given that the bool expression `condition` (often a conjunction) is true. Equal
// to `n` wherever it is, and never larger. Null if `condition` is never true. The same node if the
// condition does not help; what it helped is simplified to Effort::kSymbolic.
absl::StatusOr<Ref> SimplifyGiven(Graph& g, Ref n, Ref condition);

// A conjunction whose clauses are each simplified given the others; duplicates and clauses that
// follow from others are dropped; false if it never holds. The same node if nothing changed.
absl::StatusOr<Ref> SimplifyConjunction(Graph& g, Ref condition);

}  // namespace kiln::symbolic
