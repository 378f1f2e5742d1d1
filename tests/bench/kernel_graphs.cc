#include "tests/bench/kernel_graphs.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace kiln::bench {
namespace {

using tensor::Dim;
using tensor::GraphBuilder;
using tensor::Source;
using Node = absl::StatusOr<tensor::Value>;

constexpr DType kF32 = DType::kFloat32;

tensor::TensorGraph Finish(GraphBuilder& b, const Node& output) {
  if (!output.ok()) std::abort();
  return *std::move(b).Finish({*output});
}

Node Scalar32(GraphBuilder& b, double v, absl::Span<const Dim> dims) {
  const std::vector<Dim> ones(dims.size(), 1);
  return b.Expand(b.Reshape(b.Const(kF32, Scalar::Float(static_cast<float>(v))), ones), dims);
}

}  // namespace

tensor::TensorGraph AddGraph(int64_t n) {
  GraphBuilder b;
  return Finish(b, b.Alu(Op::kAdd, {b.Input(0, kF32, {n}), b.Input(1, kF32, {n})}));
}

tensor::TensorGraph SumGraph(int64_t n) {
  GraphBuilder b;
  return Finish(b, b.Reduce(Op::kAdd, b.Input(0, kF32, {n}), {0}));
}

tensor::TensorGraph SoftmaxGraph(int64_t rows, int64_t columns) {
  GraphBuilder b;
  const std::vector<Dim> shape = {rows, columns};
  const Node x = b.Input(0, kF32, shape);
  const Node top = b.Expand(b.Reduce(Op::kMax, x, {1}), shape);
  const Node shifted = b.Alu(Op::kSub, {x, top});
  const Node e =
      b.Alu(Op::kExp2, {b.Alu(Op::kMul, {shifted, Scalar32(b, 1.4426950408889634, shape)})});
  const Node sum = b.Reduce(Op::kAdd, e, {1});
  return Finish(b, b.Alu(Op::kMul, {e, b.Expand(b.Alu(Op::kRecip, {sum}), shape)}));
}

tensor::TensorGraph LayerNormGeluGraph(int64_t rows, int64_t columns) {
  GraphBuilder b;
  const std::vector<Dim> shape = {rows, columns}, column = {rows, 1}, row = {1, columns};
  const double scale = 1.0 / static_cast<double>(columns);
  const auto mean = [&](const Node& v) {
    return b.Alu(Op::kMul, {b.Reduce(Op::kAdd, v, {1}), Scalar32(b, scale, column)});
  };
  const Node x = b.Input(0, kF32, shape);
  const Node centred = b.Alu(Op::kSub, {x, b.Expand(mean(x), shape)});
  const Node variance = mean(b.Alu(Op::kMul, {centred, centred}));
  const Node deviation = b.Alu(Op::kSqrt, {b.Alu(Op::kAdd, {variance, Scalar32(b, 1e-5, column)})});
  const Node normal = b.Alu(Op::kMul, {centred, b.Expand(b.Alu(Op::kRecip, {deviation}), shape)});
  const Node scaled = b.Alu(Op::kMul, {normal, b.Expand(b.Input(1, kF32, row), shape)});
  const Node y = b.Alu(Op::kAdd, {scaled, b.Expand(b.Input(2, kF32, row), shape)});
  // gelu(y) = y / (1 + 2^(-2 log2(e) sqrt(2/pi) (y + 0.044715 y^3))).
  const Node cube = b.Alu(Op::kMul, {b.Alu(Op::kMul, {y, y}), y});
  const Node inner = b.Alu(Op::kAdd, {y, b.Alu(Op::kMul, {cube, Scalar32(b, 0.044715, shape)})});
  const Node e = b.Alu(Op::kExp2, {b.Alu(Op::kMul, {inner, Scalar32(b, -2.302208198, shape)})});
  const Node gate = b.Alu(Op::kRecip, {b.Alu(Op::kAdd, {e, Scalar32(b, 1, shape)})});
  return Finish(b, b.Alu(Op::kMul, {y, gate}));
}

tensor::TensorGraph MatmulGraph(int64_t m, int64_t n, int64_t k) {
  GraphBuilder b;
  const std::vector<Dim> all = {m, n, k};
  const Node left = b.Expand(b.Reshape(b.Input(0, kF32, {m, k}), {m, 1, k}), all);
  const Node right =
      b.Expand(b.Permute(b.Reshape(b.Input(1, kF32, {k, n}), {k, n, 1}), {2, 1, 0}), all);
  return Finish(b, b.Reshape(b.Reduce(Op::kAdd, b.Alu(Op::kMul, {left, right}), {2}), {m, n}));
}

tensor::TensorGraph ConvGraph(int64_t batch, int64_t in, int64_t out, int64_t size) {
  GraphBuilder b;
  constexpr int64_t kTaps = 3;
  const int64_t padded = size + 2;
  Node x = b.Pad(b.Input(0, kF32, {batch, in, size, size}), {0, 0, 0, 0, 1, 1, 1, 1});
  // Windows: rows of length `padded` repeated and cut into rows that are one longer, so that row t
  // is shifted by t. First the last axis, then the one before.
  const auto windows = [&](const Node& v, int64_t outer) {
    constexpr int64_t kRepeats = kTaps + 1;
    Node w = b.Expand(b.Reshape(v, {outer, 1, padded}), {outer, kRepeats, padded});
    w = b.Reshape(w, {outer, kRepeats * padded});
    w = b.Shrink(w, {0, outer, 0, kTaps * (padded + 1)});
    w = b.Reshape(w, {outer, kTaps, padded + 1});
    return b.Shrink(w, {0, outer, 0, kTaps, 0, size});
  };
  x = windows(x, batch * in * padded);  // [batch * in * padded, kx, size]
  x = b.Permute(b.Reshape(x, {batch * in, padded, kTaps * size}), {0, 2, 1});
  x = windows(b.Reshape(x, {batch * in * kTaps * size, padded}), batch * in * kTaps * size);
  // [batch, in, kx, ox, ky, oy] -> [batch, 1, oy, ox, in, ky, kx]
  x = b.Permute(b.Reshape(x, {batch, 1, in, kTaps, size, kTaps, size}), {0, 1, 6, 4, 2, 5, 3});
  const std::vector<Dim> all = {batch, out, size, size, in, kTaps, kTaps};
  const Node w =
      b.Reshape(b.Input(1, kF32, {out, in, kTaps, kTaps}), {1, out, 1, 1, in, kTaps, kTaps});
  const Node products = b.Alu(Op::kMul, {b.Expand(x, all), b.Expand(w, all)});
  return Finish(b, b.Reshape(b.Reduce(Op::kAdd, products, {4, 5, 6}), {batch, out, size, size}));
}

}  // namespace kiln::bench
