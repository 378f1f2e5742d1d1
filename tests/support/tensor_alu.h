// Elementwise ops, reductions and IOTA on packed arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::support {

using Bytes = std::vector<std::byte>;

// The element at `i` and back. Pre: the dtype lies in memory.
Scalar LoadElement(const Bytes& bytes, DType dtype, int64_t i);
void StoreElement(Bytes& bytes, DType dtype, int64_t i, Scalar v);

// `n`, elementwise (BITCAST aside), on arrays of `elems` elements each.
absl::StatusOr<Bytes> EvaluateAlu(Ref n, absl::Span<const Bytes* const> src, int64_t elems);

// `by` over the axes of the bit mask.
Bytes EvaluateReduce(Op by, DType dtype, uint32_t axes, absl::Span<const int64_t> shape,
                     const Bytes& src);

// The index along `axis`.
Bytes EvaluateIota(DType dtype, absl::Span<const int64_t> shape, int64_t axis);

// `a` and `b` combined elementwise.
Bytes Combine(Op by, DType dtype, const Bytes& a, const Bytes& b);

}  // namespace kiln::support
