// Functions take no kernel more than the same graph made of primitives by hand.
#include <cmath>
#include <numbers>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/schedule/schedule.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor::functions {
namespace {

constexpr DType kF32 = DType::kFloat32;
constexpr int64_t kRows = 64, kColumns = 96;
using Node = absl::StatusOr<Value>;

// Primitives on matrices of kRows x kColumns.
struct Hand {
  GraphBuilder b;

  Node Input(int64_t slot, std::vector<Dim> dims, DType dtype = kF32) {
    return b.Input(slot, dtype, dims);
  }
  Node Wide(const Node& x, int64_t columns = kColumns) { return b.Expand(x, {kRows, columns}); }
  Node Row(const Node& x) { return Wide(b.Reshape(x, {1, kColumns})); }
  Node Number(double v, int64_t rows = kRows, int64_t columns = kColumns) {
    return b.Expand(b.Reshape(b.Const(kF32, kiln::Scalar::Float(static_cast<float>(v))), {1, 1}),
                    {rows, columns});
  }
  Node Do(Op op, const Node& x, const Node& y) { return b.Alu(op, {x, y}); }
  Node Mean(const Node& x) {
    return Do(Op::kMul, b.Reduce(Op::kAdd, x, {1}), Number(1.0 / kColumns, kRows, 1));
  }
  Node Exp(const Node& x, int64_t columns = kColumns) {
    return b.Alu(Op::kExp2, {Do(Op::kMul, x, Number(std::numbers::log2e, kRows, columns))});
  }
  Node Softmax(const Node& x, int64_t columns = kColumns) {
    const Node e = Exp(Do(Op::kSub, x, Wide(b.Reduce(Op::kMax, x, {1}), columns)), columns);
    return Do(Op::kFDiv, e, Wide(b.Reduce(Op::kAdd, e, {1}), columns));
  }
};

int Kernels(GraphBuilder b, const std::vector<Source>& outputs) {
  const auto graph = std::move(b).Finish(outputs);
  EXPECT_THAT(graph, support::IsOk());
  if (!graph.ok()) return -1;
  const auto schedule = schedule::MakeSchedule(*graph->graph, graph->sink);
  EXPECT_THAT(schedule, support::IsOk());
  if (!schedule.ok()) return -1;
  int kernels = 0;
  for (const auto& item : schedule->items) {
    kernels += std::holds_alternative<schedule::Launch>(item);
  }
  return kernels;
}
using Dims = std::vector<Dim>;
int KernelsOf(const std::string& f, const std::vector<Dims>& shapes,
              const std::vector<Attribute>& attributes = {}, DType last = kF32) {
  GraphBuilder b;
  std::vector<std::optional<Source>> in;
  for (const Dims& dims : shapes) {
    const DType dtype = in.size() + 1 == shapes.size() ? last : kF32;
    in.emplace_back(b.Input(static_cast<int64_t>(in.size()), dtype, dims));
  }
  const auto made = b.Call(f, in, attributes);
  EXPECT_THAT(made, support::IsOk());
  return made.ok() ? Kernels(std::move(b), {(*made)[0]}) : -1;
}
const Dims kMatrix = {kRows, kColumns}, kRow = {kColumns};

TEST(ByHand, Softmax) {
  Hand h;
  const Node y = h.Softmax(h.Input(0, kMatrix));
  EXPECT_EQ(KernelsOf("softmax", {kMatrix}), Kernels(std::move(h.b), {y}));
}

TEST(ByHand, LayerNorm) {
  Hand h;
  const Node x = h.Input(0, kMatrix), w = h.Input(1, kRow), bias = h.Input(2, kRow);
  const Node d = h.Do(Op::kSub, x, h.Wide(h.Mean(x)));
  const Node var = h.Do(Op::kAdd, h.Mean(h.Do(Op::kMul, d, d)), h.Number(1e-5, kRows, 1));
  const Node y = h.Do(Op::kFDiv, d, h.Wide(h.b.Alu(Op::kSqrt, {var})));
  const Node scaled = h.Do(Op::kAdd, h.Do(Op::kMul, y, h.Row(w)), h.Row(bias));
  EXPECT_EQ(KernelsOf("layer_norm", {kMatrix, kRow, kRow}), Kernels(std::move(h.b), {scaled}));
}

TEST(ByHand, CrossEntropy) {
  Hand h;
  const Node x = h.Input(0, kMatrix), target = h.Input(1, {kRows}, DType::kInt32);
  const Node d = h.Do(Op::kSub, x, h.Wide(h.b.Reduce(Op::kMax, x, {1})));
  const Node log = h.b.Alu(Op::kLog2, {h.b.Reduce(Op::kAdd, h.Exp(d), {1})});
  const Node log_p =
      h.Do(Op::kSub, d, h.Wide(h.Do(Op::kMul, log, h.Number(std::numbers::ln2, kRows, 1))));
  const Node is_target = h.Do(Op::kCmpEq, h.Wide(h.b.Reshape(target, {kRows, 1})),
                              h.b.Iota(DType::kInt32, kMatrix, 1));
  const Node chosen = h.b.Alu(Op::kWhere, {is_target, log_p, h.Number(0)});
  const Node total = h.b.Reduce(Op::kAdd, chosen, {0, 1});
  const Node loss = h.Do(Op::kMul, total, h.Number(-1.0 / kRows, 1, 1));
  EXPECT_EQ(KernelsOf("cross_entropy", {kMatrix, {kRows}}, {}, DType::kInt32),
            Kernels(std::move(h.b), {loss}));
}

TEST(ByHand, Attention) {
  Hand h;
  const Node q = h.Input(0, kMatrix), k = h.Input(1, kMatrix), v = h.Input(2, kMatrix);
  const Dims cube = {kRows, kRows, kColumns};
  const auto product = [&](const Node& rows, const Node& columns, const Dims& shape) {
    const int64_t width = shape[2].size();
    const Node x = h.b.Expand(h.b.Reshape(rows, {kRows, 1, width}), shape);
    const Node y = h.b.Expand(h.b.Reshape(columns, {1, shape[1].size(), width}), shape);
    return h.b.Reshape(h.b.Reduce(Op::kAdd, h.Do(Op::kMul, x, y), {2}), {kRows, shape[1].size()});
  };
  const Node scores =
      h.Do(Op::kMul, product(q, k, cube), h.Number(1 / std::sqrt(kColumns), kRows, kRows));
  const Node y =
      product(h.Softmax(scores, kRows), h.b.Permute(v, {1, 0}), {kRows, kColumns, kRows});
  EXPECT_EQ(KernelsOf("attention", {kMatrix, kMatrix, kMatrix}), Kernels(std::move(h.b), {y}));
}

// Of several parameters, each of another shape.
TEST(ByHand, Adam) {
  Hand h;
  GraphBuilder b;
  std::vector<Source> by_hand, by_call;
  const Node rate = h.Input(0, {}), step = h.Input(1, {});
  const Node b_rate = b.Input(0, kF32, {}), b_step = b.Input(1, kF32, {});
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t columns = 8 + i;
    std::vector<Node> in, b_in;
    for (int64_t k = 0; k < 4; ++k) {
      in.push_back(h.Input(2 + 4 * i + k, {kRows, columns}));
      b_in.push_back(b.Input(2 + 4 * i + k, kF32, {kRows, columns}));
    }
    const auto number = [&](double v) { return h.Number(v, kRows, columns); };
    const auto wide = [&](const Node& x) {
      return h.b.Expand(h.b.Reshape(x, {1, 1}), {kRows, columns});
    };
    const auto mix = [&](const Node& old, const Node& now, double beta) {
      return h.Do(Op::kAdd, h.Do(Op::kMul, old, number(beta)),
                  h.Do(Op::kMul, now, number(1 - beta)));
    };
    const auto unbiased = [&](const Node& x, double beta) {
      const Node power = h.b.Alu(Op::kExp2, {h.Do(Op::kMul, wide(step), number(std::log2(beta)))});
      return h.Do(Op::kFDiv, x, h.Do(Op::kSub, number(1), power));
    };
    const Node m = mix(in[2], in[1], 0.9), v = mix(in[3], h.Do(Op::kMul, in[1], in[1]), 0.999);
    const Node root = h.b.Alu(Op::kSqrt, {unbiased(v, 0.999)});
    const Node d = h.Do(Op::kFDiv, unbiased(m, 0.9), h.Do(Op::kAdd, root, number(1e-8)));
    const Node p = h.Do(Op::kSub, in[0], h.Do(Op::kMul, wide(rate), d));
    for (const auto& [to, from] : {std::pair(in[0], p), {in[2], m}, {in[3], v}}) {
      by_hand.emplace_back(h.b.Assign(to, from));
    }
    const auto made = b.Call("adam", {b_in[0], b_in[1], b_rate, b_in[2], b_in[3], b_step});
    KILN_ASSERT_OK(made);
    by_call.emplace_back(b.Assign(b_in[0], (*made)[0]));
    by_call.emplace_back(b.Assign(b_in[2], (*made)[1]));
    by_call.emplace_back(b.Assign(b_in[3], (*made)[2]));
  }
  EXPECT_EQ(Kernels(std::move(b), by_call), Kernels(std::move(h.b), by_hand));
}

}  // namespace
}  // namespace kiln::tensor::functions
