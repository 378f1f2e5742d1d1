#include "client/cpp/functions.h"

#include <utility>

#include "client/cpp/internal/tensor_node.h"

namespace kiln {
namespace {

using client::TensorNode;

Attributes AxesAttribute(const Axes& axes, bool keepdim) {
  Attributes attributes = {{"keepdim", keepdim}};
  if (!axes.empty()) attributes.emplace_back("axes", axes);
  return attributes;
}

// A primitive with two sizes for each axis.
Tensor WithPairs(v1::Op op, const Tensor& x, const std::vector<std::pair<Dim, Dim>>& pairs) {
  auto node = std::make_shared<TensorNode>(x.node()->core, std::vector<client::NodeRef>{x.node()});
  node->node.set_op(op);
  node->node.mutable_dims();
  Dims dims;
  for (const auto& [first, second] : pairs) {
    dims.push_back(first);
    dims.push_back(second);
  }
  node->sizes.emplace_back("", std::move(dims));
  return Tensor(std::move(node));
}

}  // namespace

Tensor operator+(const Tensor& x, const Tensor& y) { return Call("add", {x, y}); }
Tensor operator-(const Tensor& x, const Tensor& y) { return Call("sub", {x, y}); }
Tensor operator*(const Tensor& x, const Tensor& y) { return Call("mul", {x, y}); }
Tensor operator/(const Tensor& x, const Tensor& y) { return Call("div", {x, y}); }
Tensor operator-(const Tensor& x) { return Call("neg", {x}); }
Tensor operator+(const Tensor& x, double y) { return x + FullLike(x, y); }
Tensor operator-(const Tensor& x, double y) { return x - FullLike(x, y); }
Tensor operator*(const Tensor& x, double y) { return x * FullLike(x, y); }
Tensor operator/(const Tensor& x, double y) { return x / FullLike(x, y); }
Tensor operator+(double x, const Tensor& y) { return FullLike(y, x) + y; }
Tensor operator-(double x, const Tensor& y) { return FullLike(y, x) - y; }
Tensor operator*(double x, const Tensor& y) { return FullLike(y, x) * y; }
Tensor operator/(double x, const Tensor& y) { return FullLike(y, x) / y; }
Tensor operator<(const Tensor& x, const Tensor& y) { return Call("lt", {x, y}); }
Tensor operator>(const Tensor& x, const Tensor& y) { return Call("gt", {x, y}); }
Tensor operator<(const Tensor& x, double y) { return x < FullLike(x, y); }
Tensor operator>(const Tensor& x, double y) { return x > FullLike(x, y); }
Tensor Equal(const Tensor& x, const Tensor& y) { return Call("eq", {x, y}); }

Tensor Exp(const Tensor& x) { return Call("exp", {x}); }
Tensor Log(const Tensor& x) { return Call("log", {x}); }
Tensor Sqrt(const Tensor& x) { return Call("sqrt", {x}); }
Tensor Tanh(const Tensor& x) { return Call("tanh", {x}); }
Tensor Relu(const Tensor& x) { return Call("relu", {x}); }
Tensor Gelu(const Tensor& x) { return Call("gelu", {x}); }
Tensor Sigmoid(const Tensor& x) { return Call("sigmoid", {x}); }
Tensor Square(const Tensor& x) { return Call("square", {x}); }
Tensor Maximum(const Tensor& x, const Tensor& y) { return Call("maximum", {x, y}); }
Tensor Minimum(const Tensor& x, const Tensor& y) { return Call("minimum", {x, y}); }
Tensor Where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return Call("where", {condition, x, y});
}
Tensor Cast(const Tensor& x, v1::DType dtype) { return Call("cast", {x}, {{"dtype", dtype}}); }

Tensor Sum(const Tensor& x, const Axes& axes, bool keepdim) {
  return Call("sum", {x}, AxesAttribute(axes, keepdim));
}
Tensor Mean(const Tensor& x, const Axes& axes, bool keepdim) {
  return Call("mean", {x}, AxesAttribute(axes, keepdim));
}
Tensor Max(const Tensor& x, const Axes& axes, bool keepdim) {
  return Call("max", {x}, AxesAttribute(axes, keepdim));
}
Tensor Min(const Tensor& x, const Axes& axes, bool keepdim) {
  return Call("min", {x}, AxesAttribute(axes, keepdim));
}
Tensor Softmax(const Tensor& x, int64_t axis) { return Call("softmax", {x}, {{"axis", axis}}); }
Tensor LogSoftmax(const Tensor& x, int64_t axis) {
  return Call("log_softmax", {x}, {{"axis", axis}});
}
Tensor Matmul(const Tensor& x, const Tensor& y) { return Call("matmul", {x, y}); }

Tensor Reshape(const Tensor& x, const Dims& shape) {
  return Call("reshape", {x}, {{"shape", shape}});
}
Tensor Expand(const Tensor& x, const Dims& shape) {
  return Call("expand", {x}, {{"shape", shape}});
}
Tensor Permute(const Tensor& x, const Axes& axes) { return Call("permute", {x}, {{"axes", axes}}); }
Tensor Transpose(const Tensor& x, int64_t axis0, int64_t axis1) {
  return Call("swapaxes", {x}, {{"axis0", axis0}, {"axis1", axis1}});
}
Tensor Flip(const Tensor& x, const Axes& axes) {
  Attributes attributes;
  if (!axes.empty()) attributes.emplace_back("axes", axes);
  return Call("flip", {x}, std::move(attributes));
}
Tensor Concat(const std::vector<Tensor>& xs, int64_t axis) {
  return Call("concat", xs, {{"axis", axis}});
}

Tensor Pad(const Tensor& x, const std::vector<std::pair<Dim, Dim>>& padding) {
  return WithPairs(v1::OP_PAD, x, padding);
}
Tensor Shrink(const Tensor& x, const std::vector<std::pair<Dim, Dim>>& bounds) {
  return WithPairs(v1::OP_SHRINK, x, bounds);
}

Tensor CopyTo(const Tensor& x, const std::string& device) {
  auto node = std::make_shared<TensorNode>(x.node()->core, std::vector<client::NodeRef>{x.node()});
  node->node.set_op(v1::OP_COPY);
  node->node.set_device(device);
  return Tensor(std::move(node));
}

Tensor Full(const Session& session, const Dims& shape, double value, v1::DType dtype) {
  return Create(session, "full", {{"shape", shape}, {"value", value}, {"dtype", dtype}});
}
Tensor FullLike(const Tensor& x, double value) {
  return Call("full_like", {x}, {{"value", value}});
}
Tensor Arange(const Session& session, int64_t stop) {
  return Create(session, "arange", {{"stop", stop}});
}

}  // namespace kiln
