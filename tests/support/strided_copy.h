// Copies between arrays whose axes have any stride.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"

namespace kiln::support {

// Strides in elements, row-major.
inline std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

// A walk over an array: where element 0 is, and how far apart neighbours are along each axis.
struct Walk {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

// Calls fn(a, b) with the positions of each index of `shape` in two arrays, in row-major order.
template <typename Fn>
void ForEachPair(absl::Span<const int64_t> shape, const Walk& a, const Walk& b, Fn fn) {
  for (int64_t size : shape) {
    if (size == 0) return;
  }
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0);
  int64_t i = a.offset, j = b.offset;
  while (true) {
    if (rank == 0) return fn(i, j);
    const int64_t n = shape[rank - 1], di = a.strides[rank - 1], dj = b.strides[rank - 1];
    for (int64_t k = 0; k < n; ++k) fn(i + k * di, j + k * dj);
    size_t axis = rank - 1;
    while (axis > 0) {
      --axis;
      i += a.strides[axis];
      j += b.strides[axis];
      if (++index[axis] < shape[axis]) break;
      i -= a.strides[axis] * shape[axis];
      j -= b.strides[axis] * shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (rank == 1) return;
  }
}

// Copies the elements of `shape` from `source` to `target`, which do not overlap.
template <typename T>
void CopyElements(absl::Span<const int64_t> shape, T* target, const Walk& to, const T* source,
                  const Walk& from) {
  ForEachPair(shape, to, from, [&](int64_t i, int64_t j) { target[i] = source[j]; });
}

}  // namespace kiln::support
