// Undoing a chain of movements.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/tensor/movement.h"

namespace kiln::tensor {

// The chain that takes the result of `chain` back to the contiguous tensor of shape `base` it began
// with, every element of which it finds. Null if `chain` drops or repeats elements, or can't be
// shown not to. Errors: those of ShapeAfter.
absl::StatusOr<std::optional<std::vector<Movement>>> Invert(Graph& g, absl::Span<const Ref> base,
                                                            absl::Span<const Movement> chain);

}  // namespace kiln::tensor
