// How many kernels gradients take: no more than written by hand.
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/schedule/schedule.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor {
namespace {

constexpr DType kF32 = DType::kFloat32;

// Confined to one test. Short names for what the graphs are built of.
struct Net {
  GraphBuilder b;

  absl::StatusOr<Value> Uniform(double v, std::vector<Dim> dims) {
    return b.Expand(b.Reshape(b.Const(kF32, Scalar::Float(v)), std::vector<Dim>(dims.size(), 1)),
                    dims);
  }
  // [m, k] x [k, n] -> [m, n].
  absl::StatusOr<Value> MatMul(const Source& x, const Source& w, int64_t m, int64_t k, int64_t n) {
    auto left = b.Expand(b.Reshape(x, {m, k, 1}), {m, k, n});
    auto right = b.Expand(b.Reshape(w, {1, k, n}), {m, k, n});
    return b.Reshape(b.Reduce(Op::kAdd, b.Alu(Op::kMul, {left, right}), {1}), {m, n});
  }
  absl::StatusOr<Value> SumOfAll(const Source& x) { return b.Reduce(Op::kAdd, x, {0, 1}); }
};

int Kernels(GraphBuilder&& b, const std::vector<Source>& outputs) {
  auto graph = std::move(b).Finish(outputs);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return -1;
  const auto s = schedule::MakeSchedule(*graph->graph, graph->sink, {});
  EXPECT_TRUE(s.ok()) << s.status();
  if (!s.ok()) return -1;
  int count = 0;
  for (const schedule::Item& item : s->items) {
    count += std::holds_alternative<schedule::Launch>(item);
  }
  return count;
}

TEST(GradientKernels, OfElementwiseOpsAreOne) {
  Net net;
  auto& b = net.b;
  auto x = b.Input(0, kF32, {64, 64});
  auto y = b.Alu(Op::kExp2, {b.Alu(Op::kSin, {b.Alu(Op::kMul, {x, x})})});
  EXPECT_EQ(Kernels(std::move(b), {b.Gradient(net.SumOfAll(y), std::nullopt, {x}, 0)}), 1);
}

TEST(GradientKernels, OfAMatrixProductAreMatrixProducts) {
  Net net;
  auto& b = net.b;
  auto x = b.Input(0, kF32, {64, 32}), w = b.Input(1, kF32, {32, 16}),
       s = b.Input(2, kF32, {64, 16});
  auto y = net.MatMul(x, w, 64, 32, 16);
  auto dx = b.Gradient(y, s, {x, w}, 0), dw = b.Gradient(y, s, {x, w}, 1);
  EXPECT_EQ(Kernels(std::move(b), {dx, dw}), 2);
}

TEST(GradientKernels, OfAGatherAreAMaskedSum) {
  Net net;
  auto& b = net.b;
  auto x = b.Input(0, kF32, {100}), at = b.Input(1, DType::kInt32, {20}),
       s = b.Input(2, kF32, {20, 1});
  auto mask = b.Alu(Op::kCmpEq, {b.Iota(DType::kInt32, {20, 100}, 1),
                                 b.Expand(b.Reshape(at, {20, 1}), {20, 100})});
  auto all = b.Expand(b.Reshape(x, {1, 100}), {20, 100});
  auto y = b.Reduce(Op::kAdd, b.Alu(Op::kWhere, {mask, all, net.Uniform(0, {20, 100})}), {1});
  EXPECT_EQ(Kernels(std::move(b), {b.Gradient(y, s, {x}, 0)}), 1);
}

TEST(GradientKernels, OfAMaximumCountAndShare) {
  Net net;
  auto& b = net.b;
  auto x = b.Input(0, kF32, {64, 32}), s = b.Input(1, kF32, {64, 1});
  auto y = b.Reduce(Op::kMax, x, {1});
  // The maximum, how many there are, and the shares.
  EXPECT_EQ(Kernels(std::move(b), {b.Gradient(y, s, {x}, 0)}), 3);
}

TEST(GradientKernels, OfSoftmax) {
  Net net;
  auto& b = net.b;
  const std::vector<Dim> dims = {64, 32};
  auto x = b.Input(0, kF32, dims), s = b.Input(1, kF32, dims);
  auto top = b.Detach(b.Expand(b.Reduce(Op::kMax, x, {1}), dims));
  auto e = b.Alu(Op::kExp2, {b.Alu(Op::kSub, {x, top})});
  auto y = b.Alu(Op::kFDiv, {e, b.Expand(b.Reduce(Op::kAdd, e, {1}), dims)});
  // Maximum, sum, the sum of what goes to it, and the gradient.
  EXPECT_EQ(Kernels(std::move(b), {b.Gradient(y, s, {x}, 0)}), 4);
}

TEST(GradientKernels, OfAPerceptron) {
  Net net;
  auto& b = net.b;
  auto x = b.Input(0, kF32, {32, 64}), w1 = b.Input(1, kF32, {64, 48}),
       w2 = b.Input(2, kF32, {48, 8});
  auto hidden = b.Alu(Op::kMax, {net.MatMul(x, w1, 32, 64, 48), net.Uniform(0, {32, 48})});
  auto y = net.MatMul(hidden, w2, 32, 48, 8);
  auto loss = net.SumOfAll(b.Alu(Op::kMul, {y, y}));
  const std::vector<Source> ws = {w1, w2};
  auto dw1 = b.Gradient(loss, std::nullopt, ws, 0), dw2 = b.Gradient(loss, std::nullopt, ws, 1);
  // Two products forward, one back to the hidden layer, two to the weights; and the loss.
  EXPECT_EQ(Kernels(std::move(b), {loss, dw1, dw2}), 6);
}

}  // namespace
}  // namespace kiln::tensor
