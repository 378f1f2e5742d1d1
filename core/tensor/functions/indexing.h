// Reading and writing at computed indices. A gather is a sum over an axis of what a comparison with
// its position selects, which the scheduler turns into a load that is gated by its bounds.
#pragma once

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {

// ** reading **
// An index of dtype int32 or int64 in which what is negative counts from the end of `n`.
Tensor FromEnd(const Tensor& index, const Size& n);
// y[...] = x[..., index[...], ...]: `x` and `index` broadcast on the other axes, of which there are
// equally many; 0 where an index is outside.
Tensor GatherAlong(const Tensor& x, const Tensor& index, int64_t axis);
// The axes of `index` instead of axis `axis`; 0 where an index is outside.
Tensor Take(const Tensor& x, const Tensor& index, int64_t axis);

// Index arrays for some of the axes of `x`: those come together in one, of which positions are taken.
struct Indexed {
  Tensor x;         // The axes of the indices in one, which is axis `axis`.
  Tensor position;  // The indices broadcast, as one number each; outside if one is.
  int64_t axis = 0;
  Axes order;  // Of the axes of the given x in `x`, before those of the indices came together.
};
// `axes`: as many as there are indices, counted from 0, each once. If they are neighbours, they stay
// where they are, else they come first, as in numpy.
Indexed WithIndices(const Tensor& x, const Tensors& indices, const Axes& axes);

// ** order **: along an axis, or the last one.
// The first `k` of each line along the axis, in order, and where they were (int64). Stable; NaN comes
// last.
struct Sorted {
  Tensor values, index;
};
Sorted SortedBy(const Tensor& x, int64_t axis, bool descending, const Size& k);
// How many elements of a line of `sorted` [..., n] come before each of `values` [..., m], or may: those
// that are less (or equal). NaN comes last. Leading axes broadcast; int32 or int64.
Tensor CountBefore(const Tensor& sorted, const Tensor& values, bool or_equal);

// Where a mask is true, row-major: [count, rank], int64, of the first `count` places; -1 beyond.
// `total`: how many there are, int64.
struct Places {
  Tensor index, total;
};
Places Nonzero(const Tensor& mask, const Size& count);

// ** writing **
// What comes to each of `n` places from the sources for which `key` (int32 or int64; negative or n and
// more: nowhere) is this place, along the last axis. `key` and `source` have equally many axes and
// broadcast on the others.
enum class Reduction { kLast, kSum, kProduct, kMax };
struct Scattered {
  Tensor value;  // Undefined where the count is 0.
  Tensor count;  // Of sources, int32 or int64.
};
Scattered ScatterLast(const Tensor& key, const Tensor& source, const Size& n, Reduction reduction);

}  // namespace kiln::tensor::functions
