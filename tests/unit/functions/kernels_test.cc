// How many kernels functions take: none that a graph composed by hand would not have.
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/schedule/schedule.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor::functions {
namespace {

constexpr DType kF32 = DType::kFloat32;
using Made = absl::StatusOr<std::vector<Value>>;

int Kernels(GraphBuilder b, const std::vector<Source>& outputs) {
  auto graph = std::move(b).Finish(outputs);
  EXPECT_THAT(graph, support::IsOk());
  if (!graph.ok()) return -1;
  const auto schedule = schedule::MakeSchedule(*graph->graph, graph->sink);
  EXPECT_THAT(schedule, support::IsOk());
  if (!schedule.ok()) return -1;
  int kernels = 0;
  for (const auto& item : schedule->items)
    kernels += std::holds_alternative<schedule::Launch>(item);
  return kernels;
}
// Of the first output.
int KernelsOf(const std::string& function,
              const std::vector<std::pair<DType, std::vector<Dim>>>& inputs,
              const std::vector<Attribute>& attributes = {}) {
  GraphBuilder b;
  std::vector<std::optional<Source>> sources;
  for (const auto& [dtype, dims] : inputs)
    sources.emplace_back(b.Input(static_cast<int64_t>(sources.size()), dtype, dims));
  const Made y = b.Call(function, sources, attributes);
  EXPECT_THAT(y, support::IsOk());
  return y.ok() ? Kernels(std::move(b), {(*y)[0]}) : -1;
}

TEST(Kernels, AreFew) {
  const std::pair<DType, std::vector<Dim>> x = {kF32, {64, 96}}, w = {kF32, {96}},
                                           i = {DType::kInt32, {64}};
  EXPECT_EQ(KernelsOf("gelu", {x}), 1);
  EXPECT_EQ(KernelsOf("softmax", {x}), 3);  // The maximum, the sum, and the quotient.
  EXPECT_EQ(KernelsOf("log_softmax", {x}), 3);
  EXPECT_EQ(KernelsOf("layer_norm", {x, w, w}), 3);  // The mean, the variance, and what follows.
  EXPECT_EQ(KernelsOf("rms_norm", {x, w}), 2);
  EXPECT_EQ(KernelsOf("cross_entropy", {x, i}), 3);  // The maximum, the sum, and the loss.
  EXPECT_EQ(KernelsOf("matmul", {x, {kF32, {96, 32}}}), 1);
  EXPECT_EQ(KernelsOf("linear", {x, {kF32, {32, 96}}, {kF32, {32}}}), 1);
  const std::pair<DType, std::vector<Dim>> heads = {kF32, {2, 4, 64, 32}};
  // Scores; their maximum; the sum; the product with values.
  EXPECT_EQ(KernelsOf("attention", {heads, heads, heads}, {{"causal", true}}), 4);
  EXPECT_EQ(KernelsOf("embedding", {i, x}), 1);
  EXPECT_EQ(KernelsOf("gather", {x, {DType::kInt32, {64, 8}}}), 1);
  EXPECT_EQ(KernelsOf("one_hot", {i}, {{"classes", 1000}}), 1);
  EXPECT_EQ(KernelsOf("conv", {{kF32, {2, 3, 16, 16}}, {kF32, {8, 3, 3, 3}}}), 1);
  EXPECT_EQ(KernelsOf("max_pool", {{kF32, {2, 3, 16, 16}}}, {{"kernel", 2}}), 1);
  EXPECT_EQ(KernelsOf("cumsum", {x}), 1);
  EXPECT_EQ(KernelsOf("sort", {{kF32, {64, 32}}}), 2);  // Ranks, and what is there.
  EXPECT_EQ(KernelsOf("index", {x, i, i}), 1);
  EXPECT_EQ(KernelsOf("searchsorted", {w, x}), 1);
  EXPECT_EQ(KernelsOf("scatter", {w, {DType::kInt32, {5}}, {kF32, {5}}}, {{"reduce", "sum"}}), 1);
  EXPECT_EQ(KernelsOf("interpolate", {{kF32, {2, 3, 16, 16}}}, {{"sizes", 32}, {"mode", "linear"}}),
            1);
  EXPECT_EQ(KernelsOf("roll", {x}, {{"shifts", 3}, {"axes", 1}}), 1);
}

// A bitonic network of 2^k words has k (k + 1) / 2 steps; two of them are a kernel. At the end, a load.
TEST(Kernels, OfANetworkAreItsSteps) {
  const auto sort = [](int64_t n) { return KernelsOf("sort", {{kF32, {n}}}); };
  EXPECT_LE(sort(64), 1 + 12);
  EXPECT_LE(sort(1 << 10), 1 + 30);
  EXPECT_LE(sort(1 << 20), 1 + 110);
  EXPECT_LE(KernelsOf("topk", {{kF32, {1 << 20}}}, {{"k", 8}}), 1 + 5 + 17 * 2);
}

// One for each result, as the scheduler gives each write its own: bias corrections are part of them.
TEST(Kernels, AnOptimiserTakesOnePerResult) {
  GraphBuilder b;
  const auto rate = b.Input(0, kF32, {}), step = b.Input(1, DType::kInt32, {});
  std::vector<Source> results;
  for (int64_t k = 0; k < 3; ++k) {
    std::vector<absl::StatusOr<Value>> in;
    for (int64_t j = 0; j < 4; ++j) in.push_back(b.Input(2 + 4 * k + j, kF32, {16 + k, 8}));
    const Made out = b.Call("adam", {in[0], in[1], rate, in[2], in[3], step});
    KILN_ASSERT_OK(out);
    for (size_t j = 0; j < 3; ++j)
      results.emplace_back(b.Assign(in[j == 0 ? 0 : j + 1], (*out)[j]));
  }
  EXPECT_LE(Kernels(std::move(b), results), 9);
}

TEST(Kernels, SizesMayBeSymbolic) {
  GraphBuilder b;
  const auto n = b.Variable("n", 1, 64);
  const auto x = b.Input(0, kF32, {n, 8}), keys = b.Input(1, kF32, {4, 8});
  const Made y = b.Call("softmax", {x}, {{"axis", 0}});
  const Made z = b.Call("attention", {keys, x, x});
  const Made s = b.Call("slice", {x},
                        {{"begin", std::vector<Dim>{Dim(0)}}, {"end", std::vector<Dim>{Dim(n)}}});
  const Made m = b.Call("mean", {x});
  const Made joined = b.Call("concat", {x, keys}, {{"axis", 0}});
  for (const Made* made : {&y, &z, &s, &m, &joined}) KILN_ASSERT_OK(*made);
  EXPECT_GT(Kernels(std::move(b), {(*y)[0], (*z)[0], (*s)[0], (*m)[0], (*joined)[0]}), 0);
}

TEST(Call, CountsAgainstTheLimits) {
  GraphBuilder b(GraphLimits{.nodes = 10});
  const auto x = b.Input(0, kF32, {4});
  EXPECT_THAT(b.Call("gelu", {x}), support::StatusIs(absl::StatusCode::kResourceExhausted,
                                                     testing::HasSubstr("limit of 10 nodes")));
}

TEST(Call, SaysWhatIsWrong) {
  GraphBuilder b;
  const auto x = b.Input(0, kF32, {4, 3}), y = b.Input(1, kF32, {2});
  const auto refusal = [&b](const std::string& f, std::vector<std::optional<Source>> in,
                            std::vector<Attribute> a = {}) {
    const Made made = b.Call(f, in, a);
    return made.ok() ? "accepted" : std::string(made.status().message());
  };
  EXPECT_EQ(refusal("add", {x, y}),
            "node 2 (call add): the shapes (4, 3) and (2) do not broadcast");
  EXPECT_EQ(refusal("add", {x}), "node 3 (call add), y: it is missing");
  EXPECT_EQ(refusal("neg", {x, x}), "node 4 (call neg), inputs: 2 given, it takes 1");
  EXPECT_EQ(refusal("sum", {x}, {{"axis", 1}}),
            "node 5 (call sum), axis: no such attribute, there is axes, keepdim, dtype");
  EXPECT_EQ(refusal("sum", {x}, {{"axes", "all"}}),
            "node 6 (call sum), axes: \"all\" given, it must be a list of integers");
  EXPECT_EQ(refusal("sum", {x}, {{"axes", 2}}),
            "node 7 (call sum), axes: 2 given, there are axes -2 to 1");
  EXPECT_EQ(refusal("sum", {x}, {{"keepdim", 1}}),
            "node 8 (call sum), keepdim: 1 given, it must be true or false");
  EXPECT_EQ(refusal("bitwise_and", {x, y}),
            "node 9 (call bitwise_and), x: its dtype is float32, it must be bool or an integer");
  EXPECT_EQ(refusal("elu", {x}, {{"alpha", 1.0}, {"alpha", 2.0}}),
            "node 10 (call elu), alpha: it is given twice");
  EXPECT_EQ(refusal("sum", {Source(Value{99})}), "node 11 (call sum), x: there is no node 99");
  EXPECT_EQ(refusal("softmax", {b.Const(kF32, Scalar::Float(1))}),
            "node 13 (call softmax), x: its shape () has 0 axes, it needs at least 1 axis");
}

}  // namespace
}  // namespace kiln::tensor::functions
