// How many kernels gradients of functions take, and how much memory: no more than by hand.
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/schedule/schedule.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor::functions {
namespace {

constexpr DType kF32 = DType::kFloat32, kI32 = DType::kInt32;
using Dims = std::vector<int64_t>;
using Maybe = absl::StatusOr<Value>;

// A graph in the making, and the parameters that are trained.
struct Net {
  GraphBuilder b;
  int64_t slots = 0;
  std::vector<Source> params;

  Maybe Input(DType dtype, const Dims& dims) {
    return b.Input(slots++, dtype, std::vector<Dim>(dims.begin(), dims.end()));
  }
  Maybe Param(const Dims& dims) {
    params.emplace_back(Input(kF32, dims));
    return params.back().value();
  }
  // The first output.
  Maybe Call(const std::string& f, const std::vector<std::optional<Source>>& inputs,
             const std::vector<Attribute>& attributes = {}) {
    const auto made = b.Call(f, inputs, attributes);
    if (!made.ok()) return made.status();
    return (*made)[0];
  }
  std::vector<Source> Gradients(const Source& y, const std::optional<Source>& seed = {}) {
    std::vector<Source> grads;
    for (size_t i = 0; i < params.size(); ++i) {
      grads.emplace_back(b.Gradient(y, seed, params, static_cast<int64_t>(i)));
    }
    return grads;
  }
};

struct Cost {
  int kernels = 0;
  int64_t largest = 0;  // Elements of the largest temporary.
};
Cost CostOf(Net net, const std::vector<Source>& outputs) {
  auto graph = std::move(net.b).Finish(outputs);
  EXPECT_THAT(graph, support::IsOk());
  if (!graph.ok()) return {1 << 20, int64_t{1} << 40};
  const auto schedule = schedule::MakeSchedule(*graph->graph, graph->sink);
  EXPECT_THAT(schedule, support::IsOk());
  if (!schedule.ok()) return {1 << 20, int64_t{1} << 40};
  Cost cost;
  for (const schedule::Item& item : schedule->items) {
    cost.kernels += std::holds_alternative<schedule::Launch>(item);
  }
  for (const schedule::Buffer& buffer : schedule->buffers) {
    if (buffer.kind != schedule::Buffer::Kind::kTemporary) continue;
    cost.largest = std::max(cost.largest, buffer.elems);
  }
  return cost;
}

struct Row {
  std::string function;
  std::vector<std::pair<DType, Dims>> inputs;  // The float32 ones are differentiated.
  std::vector<Attribute> attributes;
  int kernels;      // At most; a forward pass, if one is needed, among them.
  int64_t largest;  // Elements of a temporary, at most.
};

std::vector<Row> Rows() {
  const std::pair<DType, Dims> x = {kF32, {64, 96}}, w = {kF32, {96}}, i = {kI32, {64}};
  const std::pair<DType, Dims> heads = {kF32, {2, 4, 64, 32}};
  constexpr int64_t kRows = 64, kScores = 2 * 4 * 64 * 64;
  return {
      {"gelu", {x}, {}, 1, 0},
      {"softmax", {x}, {}, 4, kRows},
      {"log_softmax", {x}, {}, 3, kRows},
      {"logsumexp", {x}, {{"axes", Dims{1}}}, 3, kRows},
      {"layer_norm", {x, w, w}, {}, 7, kRows},
      {"rms_norm", {x, w}, {}, 4, kRows},
      {"cross_entropy", {x, i}, {}, 4, kRows},
      {"matmul", {x, {kF32, {96, 32}}}, {}, 2, 0},
      {"linear", {x, {kF32, {32, 96}}, {kF32, {32}}}, {}, 3, 0},
      {"attention", {heads, heads, heads}, {{"causal", true}}, 8, kScores},
      // A sum over all indices for each element of the weight: no memory, but work of their product.
      {"embedding", {i, {kF32, {1000, 32}}}, {}, 1, 0},
      {"gather", {x, {kI32, {64, 8}}}, {}, 1, 0},
      {"conv", {{kF32, {2, 3, 16, 16}}, {kF32, {8, 3, 3, 3}}, {kF32, {8}}}, {}, 3, 0},
      {"max_pool", {{kF32, {2, 3, 16, 16}}}, {{"kernel", 2}}, 3, 2 * 3 * 8 * 8},
      {"prod", {{kF32, {64, 8}}}, {{"axes", Dims{1}}}, 1, 0},
      {"cumsum", {x}, {}, 1, 0},
  };
}

TEST(GradientKernels, OfFunctionsAreFew) {
  for (const Row& row : Rows()) {
    Net net;
    std::vector<std::optional<Source>> inputs;
    for (const auto& [dtype, dims] : row.inputs) {
      inputs.emplace_back(dtype == kF32 ? net.Param(dims) : net.Input(dtype, dims));
    }
    const Maybe y = net.Call(row.function, inputs, row.attributes);
    ASSERT_THAT(y, support::IsOk()) << row.function;
    Dims dims;
    const absl::Span<const Ref> shape = *net.b.ShapeOf(*y);
    for (Ref d : shape) dims.push_back(d->IntValue());
    const std::vector<Source> grads = net.Gradients(y, net.Input(kF32, dims));
    const Cost cost = CostOf(std::move(net), grads);
    RecordProperty(row.function,
                   absl::StrCat(cost.kernels, " kernels, ", cost.largest, " elements"));
    EXPECT_LE(cost.kernels, row.kernels) << row.function;
    EXPECT_LE(cost.largest, row.largest) << row.function;
  }
}

// ** training steps **: the loss, all gradients, and new parameters.

Cost TrainingStep(Net net, const Maybe& loss) {
  std::vector<Source> outputs = net.Gradients(loss);
  const Maybe rate = net.Input(kF32, {});
  for (size_t i = 0; i < net.params.size(); ++i) {
    outputs[i] = net.b.Assign(net.params[i], net.Call("sgd", {net.params[i], outputs[i], rate}));
  }
  outputs.emplace_back(loss);
  return CostOf(std::move(net), outputs);
}

TEST(GradientKernels, OfAStepOfAnImageClassifier) {
  Net net;
  Maybe x = net.Input(kF32, {32, 1, 28, 28});
  const Maybe target = net.Input(kI32, {32});
  const auto conv = [&net](const Maybe& in, int64_t from, int64_t to, int64_t size) {
    const Maybe y = net.Call("conv", {in, net.Param({to, from, size, size}), net.Param({to})});
    return net.Call("relu", {y});
  };
  x = conv(conv(x, 1, 32, 5), 32, 32, 5);
  x = net.Call("max_pool", {x}, {{"kernel", 2}});
  x = conv(conv(x, 32, 64, 3), 64, 64, 3);
  x = net.Call("max_pool", {x}, {{"kernel", 2}});
  x = net.Call("flatten", {x}, {{"first", 1}});
  x = net.Call("linear", {x, net.Param({10, 576}), net.Param({10})});
  const Maybe loss = net.Call("cross_entropy", {x, target});
  const Cost cost = TrainingStep(std::move(net), loss);
  RecordProperty("kernels", cost.kernels);
  EXPECT_LE(cost.kernels, 26);
  EXPECT_LE(cost.largest, 32 * 32 * 24 * 24);  // The largest activation.
}

TEST(GradientKernels, OfAStepOfALanguageModel) {
  constexpr int64_t kBatch = 4, kTokens = 32, kWidth = 64, kHeads = 4, kWords = 256, kLayers = 2;
  Net net;
  const Maybe tokens = net.Input(kI32, {kBatch, kTokens}),
              target = net.Input(kI32, {kBatch * kTokens});
  const auto linear = [&net](const Maybe& in, int64_t from, int64_t to) {
    return net.Call("linear", {in, net.Param({to, from}), net.Param({to})});
  };
  const auto norm = [&net](const Maybe& in) {
    return net.Call("layer_norm", {in, net.Param({kWidth}), net.Param({kWidth})});
  };
  const auto add = [&net](const Maybe& x, const Maybe& y) { return net.Call("add", {x, y}); };
  const auto heads = [&net](const Maybe& in) {
    const Maybe split =
        net.Call("reshape", {in}, {{"shape", Dims{kBatch, kTokens, kHeads, kWidth / kHeads}}});
    return net.Call("swapaxes", {split}, {{"axis0", 1}, {"axis1", 2}});
  };
  Maybe x = add(net.Call("embedding", {tokens, net.Param({kWords, kWidth})}),
                net.Param({kTokens, kWidth}));
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const Maybe in = norm(x);
    const Maybe q = heads(linear(in, kWidth, kWidth)), k = heads(linear(in, kWidth, kWidth)),
                v = heads(linear(in, kWidth, kWidth));
    const Maybe seen = net.Call("swapaxes", {net.Call("attention", {q, k, v}, {{"causal", true}})},
                                {{"axis0", 1}, {"axis1", 2}});
    const Maybe joined = net.Call("reshape", {seen}, {{"shape", Dims{kBatch, kTokens, kWidth}}});
    x = add(x, linear(joined, kWidth, kWidth));
    const Maybe hidden = net.Call("gelu", {linear(norm(x), kWidth, 4 * kWidth)});
    x = add(x, linear(hidden, 4 * kWidth, kWidth));
  }
  const Maybe logits = net.Call("linear", {norm(x), net.Param({kWords, kWidth})});
  const Maybe rows = net.Call("reshape", {logits}, {{"shape", Dims{kBatch * kTokens, kWords}}});
  const Maybe loss = net.Call("cross_entropy", {rows, target});
  const Cost cost = TrainingStep(std::move(net), loss);
  RecordProperty("kernels", cost.kernels);
  EXPECT_LE(cost.kernels, 104);
  EXPECT_LE(cost.largest, kBatch * kTokens * kWords);
}

}  // namespace
}  // namespace kiln::tensor::functions
