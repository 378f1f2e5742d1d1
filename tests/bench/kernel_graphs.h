// Graphs of the kernels that are timed.
#pragma once

#include <cstdint>

#include "core/tensor/graph_builder.h"

namespace kiln::bench {

// float32 all. Inputs are slots 0, 1...
tensor::TensorGraph AddGraph(int64_t n);  // a[n] + b[n]
tensor::TensorGraph SumGraph(int64_t n);  // sum of a[n]
tensor::TensorGraph SoftmaxGraph(int64_t rows, int64_t columns);
// Layer norm over the last axis (scale and shift are slots 1 and 2), then gelu.
tensor::TensorGraph LayerNormGeluGraph(int64_t rows, int64_t columns);
tensor::TensorGraph MatmulGraph(int64_t m, int64_t n, int64_t k);  // a[m, k] @ b[k, n]
// x[batch, in, size, size] by w[out, in, 3, 3], padding 1.
tensor::TensorGraph ConvGraph(int64_t batch, int64_t in, int64_t out, int64_t size);

}  // namespace kiln::bench
