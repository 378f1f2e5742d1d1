// What goes from the adjoint of a node to one of its sources. For the files of this folder.
#pragma once

#include "absl/status/statusor.h"

#include "core/tensor/gradient/terms.h"

namespace kiln::tensor::internal {

// Each: of the node `v` with adjoint `d` (of v's dtype and shape), what goes to source `i`, of that
// source's dtype and shape; null if nothing does. Pre: v and its source are floats.

// Pre: IsAlu(v->op), and it is not BITCAST.
Ref ElementwiseGradient(Terms& terms, Ref v, int i, Ref d);
// Pre: IsMovement(v->op). Errors: those of symbolic::Simplify.
absl::StatusOr<Ref> MovementGradient(Terms& terms, Ref v, Ref d);
// Pre: a REDUCE of axes.
Ref ReduceGradient(Terms& terms, Ref v, Ref d);
// Pre: an ALLREDUCE; `d` lies in pieces as v does.
Ref AllReduceGradient(Terms& terms, Ref v, Ref d);

}  // namespace kiln::tensor::internal
