// Answers about expressions whose variables are open.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::symbolic {

// The value of a bool expression if simplification or bounds decide it, else `otherwise`.
// Errors: those of Simplify.
absl::StatusOr<bool> Resolve(Graph& g, Ref condition, bool otherwise);

// The value of an expression that simplification or bounds reduce to a constant.
// FailedPrecondition, with the expression and its bounds, if they do not.
absl::StatusOr<Scalar> ConstantValue(Graph& g, Ref n);

}  // namespace kiln::symbolic
