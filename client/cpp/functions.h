// The everyday functions of tensors. All others: Call("name", {inputs}, {attributes}).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/cpp/tensor.h"

namespace kiln {

// ** element by element **, broadcast and promoted
Tensor operator+(const Tensor& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Tensor& y);
Tensor operator*(const Tensor& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Tensor& y);  // As floats.
Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& x, double y);
Tensor operator-(const Tensor& x, double y);
Tensor operator*(const Tensor& x, double y);
Tensor operator/(const Tensor& x, double y);
Tensor operator+(double x, const Tensor& y);
Tensor operator-(double x, const Tensor& y);
Tensor operator*(double x, const Tensor& y);
Tensor operator/(double x, const Tensor& y);
// Comparisons give bool.
Tensor operator<(const Tensor& x, const Tensor& y);
Tensor operator>(const Tensor& x, const Tensor& y);
Tensor operator<(const Tensor& x, double y);
Tensor operator>(const Tensor& x, double y);
Tensor Equal(const Tensor& x, const Tensor& y);

Tensor Exp(const Tensor& x);
Tensor Log(const Tensor& x);
Tensor Sqrt(const Tensor& x);
Tensor Tanh(const Tensor& x);
Tensor Relu(const Tensor& x);
Tensor Gelu(const Tensor& x);
Tensor Sigmoid(const Tensor& x);
Tensor Square(const Tensor& x);
Tensor Maximum(const Tensor& x, const Tensor& y);
Tensor Minimum(const Tensor& x, const Tensor& y);
Tensor Where(const Tensor& condition, const Tensor& x, const Tensor& y);
Tensor Cast(const Tensor& x, v1::DType dtype);

// ** over axes **, negative from the end; none given: all. Reduced axes go, unless `keepdim`.
using Axes = std::vector<int64_t>;
Tensor Sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor Mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor Max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor Min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor Softmax(const Tensor& x, int64_t axis = -1);
Tensor LogSoftmax(const Tensor& x, int64_t axis = -1);

// x: [..., m, k], y: [..., k, n] -> [..., m, n]
Tensor Matmul(const Tensor& x, const Tensor& y);

// ** movement **
Tensor Reshape(const Tensor& x, const Dims& shape);  // One may be -1: what is left.
Tensor Expand(const Tensor& x, const Dims& shape);   // -1: as it is.
Tensor Permute(const Tensor& x, const Axes& axes);
Tensor Transpose(const Tensor& x, int64_t axis0 = -2, int64_t axis1 = -1);
Tensor Flip(const Tensor& x, const Axes& axes);
Tensor Concat(const std::vector<Tensor>& xs, int64_t axis = 0);
// (before, after) and (begin, end) of each axis.
Tensor Pad(const Tensor& x, const std::vector<std::pair<Dim, Dim>>& padding);
Tensor Shrink(const Tensor& x, const std::vector<std::pair<Dim, Dim>>& bounds);

// ** devices **
Tensor CopyTo(const Tensor& x, const std::string& device);

// ** creation **
Tensor Full(const Session& session, const Dims& shape, double value, v1::DType dtype = kFloat32);
Tensor FullLike(const Tensor& x, double value);
Tensor Arange(const Session& session, int64_t stop);  // int64: 0, 1, ... below stop.

}  // namespace kiln
