// Index arithmetic that folds while it builds, so that chains over constant shapes are small before
// anything is simplified: constants, shifts of shifts, mirrors of mirrors. Exact: a constant that
// would leave int64 is left unfolded.
#pragma once

#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::tensor::internal {

Ref Plus(Graph& g, Ref x, Ref y);
// Of all terms, from the left; 0 if there are none.
Ref Sum(Graph& g, absl::Span<const Ref> terms);
Ref Minus(Graph& g, Ref x, Ref y);
Ref Times(Graph& g, Ref x, Ref y);
// Truncating. Pre: `y` is not the constant 0.
Ref Quotient(Graph& g, Ref x, Ref y);
Ref Remainder(Graph& g, Ref x, Ref y);

// ** conditions **
// Compared with a constant, shifts and mirrors move to it: 2 - x < 1 is !(x < 2).
Ref Less(Graph& g, Ref x, Ref y);
Ref AtMost(Graph& g, Ref x, Ref y);
Ref Equal(Graph& g, Ref x, Ref y);
Ref Both(Graph& g, Ref p, Ref q);
Ref Negation(Graph& g, Ref p);

// Whether an index node is the constant 0 or 1.
inline bool IsZero(Ref n) { return IsIntConst(n, 0); }
inline bool IsOne(Ref n) { return IsIntConst(n, 1); }

}  // namespace kiln::tensor::internal
