// Movement ops done on arrays: what index expressions are checked against.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/symbolic/evaluate.h"
#include "core/tensor/movement.h"

namespace kiln::tensor {

// A row-major array that holds for each element its position in the base, or -1 for padding.
struct PositionArray {
  std::vector<int64_t> shape;
  std::vector<int64_t> at;
};

// The base itself.
PositionArray BaseArray(absl::Span<const int64_t> shape);

// Pre: the step fits.
PositionArray Moved(Graph& g, const PositionArray& in, const Movement& step,
                    const symbolic::Bindings& values);

// The coordinates of element `position`, as values of the ranges 0, 1...
void BindCoordinates(absl::Span<const int64_t> shape, int64_t position, symbolic::Bindings& values);

// What an access says about one element: its position, or -1.
absl::StatusOr<int64_t> PositionOf(Graph& g, const Access& access,
                                   const symbolic::Bindings& values);

// Sizes under `values`.
std::vector<int64_t> Values(Graph& g, absl::Span<const Ref> dims, const symbolic::Bindings& values);

}  // namespace kiln::tensor
