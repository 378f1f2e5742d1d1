// Gradients on the engine: scheduled, compiled and run, against the evaluator.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "backends/cpu/cpu.h"
#include "core/runtime/engine.h"
#include "core/uop/facts.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tensor_evaluator.h"
#include "tests/unit/gradient/random_graph.h"

namespace kiln::tensor {
namespace {

constexpr DType kF64 = DType::kFloat64;

// One engine on two devices. Confined to one test.
class GradientEngine : public testing::Test {
 protected:
  void SetUp() override {
    KILN_ASSERT_OK(cpu::RegisterCpuBackend(registry_, {.num_devices = 2}));
    auto engine = runtime::Engine::Create(registry_, {});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }

  // Runs `graph` on random inputs of constant shapes, and compares.
  void ExpectAgreement(const TensorGraph& graph, uint64_t seed) {
    support::Random random(seed);
    support::TensorRun run;
    std::vector<runtime::Binding> bindings;
    for (const TensorInput& input : graph.inputs) {
      int64_t elems = 1;
      for (Ref d : input.dims) elems *= d->IntValue();
      std::vector<double> values;
      for (int64_t i = 0; i < elems; ++i) {
        values.push_back(0.5 + static_cast<double>(random.Uniform(0, 1 << 20)) / (1 << 20));
      }
      std::vector<std::byte>& bytes = run.inputs[input.slot];
      bytes.resize(values.size() * sizeof(double));
      if (elems > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
      const std::string device = input.device.empty() ? "cpu:0" : input.device;
      KILN_ASSERT_OK_AND_ASSIGN(auto buffer, engine_->Upload(device, bytes));
      bindings.push_back({input.slot, std::move(buffer)});
    }
    KILN_ASSERT_OK_AND_ASSIGN(const auto want, support::EvaluateTensors(graph, run));
    KILN_ASSERT_OK_AND_ASSIGN(const auto have,
                              engine_->Run(graph, {.inputs = bindings, .variables = {}}));
    for (size_t o = 0; o < want.outputs.size(); ++o) {
      std::vector<std::byte> bytes(want.outputs[o].bytes.size());
      KILN_ASSERT_OK(engine_->Read(have.outputs[o], absl::MakeSpan(bytes)));
      for (size_t at = 0; at < bytes.size(); at += sizeof(double)) {
        double a, b;
        std::memcpy(&a, &want.outputs[o].bytes[at], sizeof(a));
        std::memcpy(&b, &bytes[at], sizeof(b));
        ASSERT_NEAR(a, b, 1e-9 * std::max(1.0, std::fabs(a)))
            << "seed " << seed << ", output " << o << ", byte " << at;
      }
    }
  }

  runtime::Registry registry_;
  std::unique_ptr<runtime::Engine> engine_;
};

TEST_F(GradientEngine, AgreesOnRandomGraphs) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    GraphBuilder b;
    const auto y = support::RandomDifferentiable(b, seed).Build();
    const std::vector<Source> xs = {Value{0}, Value{1}};
    std::vector<Source> outputs = {b.Gradient(y, std::nullopt, xs, 0),
                                   b.Gradient(y, std::nullopt, xs, 1)};
    if (seed % 5 == 0) outputs.emplace_back(b.Gradient(outputs[0], std::nullopt, xs, 1));
    KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph graph, std::move(b).Finish(outputs));
    ExpectAgreement(graph, seed);
  }
}

TEST_F(GradientEngine, GoesBackToTheDeviceOfEachInput) {
  GraphBuilder b;
  auto x = b.Input(0, kF64, {8}), w = b.Input(1, kF64, {8}, "cpu:1");
  auto y = b.Alu(Op::kSin, {b.Alu(Op::kMul, {b.Copy(x, "cpu:1"), w})});
  // The update of x is where x is.
  auto dx = b.Gradient(y, std::nullopt, {x, w}, 0), dw = b.Gradient(y, std::nullopt, {x, w}, 1);
  auto sum_x = b.Alu(Op::kAdd, {x, dx}), sum_w = b.Alu(Op::kAdd, {w, dw});
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph graph, std::move(b).Finish({sum_x, sum_w}));
  ExpectAgreement(graph, 1);
}

TEST_F(GradientEngine, DataParallel) {
  const std::vector<std::string> devices = {"cpu:0", "cpu:1"};
  GraphBuilder b;
  auto x = b.Input(0, kF64, {8, 4}), w = b.Input(1, kF64, {1, 4});
  auto batch = b.Shard(x, devices, 0), weights = b.Shard(w, devices, std::nullopt);
  auto y = b.Alu(Op::kSin, {b.Alu(Op::kMul, {batch, b.Expand(weights, {8, 4})})});
  auto loss = b.Unshard(b.Reduce(Op::kAdd, b.Alu(Op::kMul, {y, y}), {0, 1}));
  auto dx = b.Gradient(loss, std::nullopt, {x, w, weights}, 0);
  auto dw = b.Gradient(loss, std::nullopt, {x, w, weights}, 1);
  auto on_each = b.Unshard(b.Gradient(loss, std::nullopt, {x, w, weights}, 2));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph graph, std::move(b).Finish({dx, dw, on_each}));
  ExpectAgreement(graph, 1);
}

}  // namespace
}  // namespace kiln::tensor
