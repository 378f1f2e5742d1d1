// Bounds of an expression where a condition holds.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "core/uop/facts.h"
#include "core/uop/graph.h"

namespace kiln::symbolic {

// The conjunction of two conditions, of which either may be null: no condition.
Ref Conjunction(Graph& g, Ref p, Ref q);

// Bounds of the values that `n` takes where `condition` holds (null: everywhere); nullopt if it
// never holds. Pre: the dtype is an integer.
absl::StatusOr<std::optional<Bounds>> BoundsUnder(Graph& g, Ref n, Ref condition);

}  // namespace kiln::symbolic
