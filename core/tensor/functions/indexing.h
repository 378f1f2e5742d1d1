// Reading and writing at computed indices. A gather is a sum over an axis of what a comparison with
// its position selects, which the scheduler turns into a load that is gated by its bounds.
#pragma once

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {

// An index of dtype int32 or int64 in which what is negative counts from the end of `n`.
Tensor FromEnd(const Tensor& index, const Size& n);
// y[...] = x[..., index[...], ...]: `x` and `index` broadcast on the other axes, of which there are
// equally many; 0 where an index is outside.
Tensor GatherAlong(const Tensor& x, const Tensor& index, int64_t axis);
// The axes of `index` instead of axis `axis`; 0 where an index is outside.
Tensor Take(const Tensor& x, const Tensor& index, int64_t axis);

// The first `k` of each line along the axis, in order, and where they were (int64). Stable; NaN comes
// last.
struct Sorted {
  Tensor values, index;
};
Sorted SortedBy(const Tensor& x, int64_t axis, bool descending, const Size& k);

}  // namespace kiln::tensor::functions
