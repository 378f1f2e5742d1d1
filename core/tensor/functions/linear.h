// Products and norms that several functions are made of.
#pragma once

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {

// x: [..., m, k], y: [..., k, n] -> [..., m, n]. Leading axes broadcast; floats of 16 bits are
// multiplied and added in float32, in which the result is, too.
Tensor WideMatMul(const Tensor& x, const Tensor& y);
// x: [..., k], weight: [n, k], bias: [n] or absent -> [..., n], likewise.
Tensor WideLinear(const Tensor& x, const Tensor& weight, const Tensor& bias);

// e^x / sum(e^x), with the maximum taken off first, which is no part of the gradient. Of wide floats.
Tensor Softmax(const Tensor& x, int64_t axis);
Tensor LogSoftmax(const Tensor& x, int64_t axis);
// (x - mean) / sqrt(var + eps) over the axes. Of wide floats.
Tensor Standardized(const Tensor& x, const Axes& axes, double eps);

// The diagonal x[..., i, i + offset] of the last two axes, as the last axis.
Tensor Diagonal(const Tensor& x, const Size& offset);

}  // namespace kiln::tensor::functions
