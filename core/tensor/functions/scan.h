// Reductions that several functions are made of.
#pragma once

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {

// y[i] = x[0] op ... op x[i] along the axis, for ADD, MUL and MAX. Each element is reduced by itself,
// under a mask; a long axis in pieces first.
Tensor Scan(Op op, const Tensor& x, int64_t axis);

// log(sum(e^x)) by the maximum, which is no part of the gradient.
Tensor LogSumExp(const Tensor& x, const Axes& axes, Keep keep);

}  // namespace kiln::tensor::functions
