// Random graphs over several devices, many runs at once: what the order of submissions must get
// right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"

#include "backends/cpu/cpu.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/engine_testing.h"

namespace kiln::runtime {
namespace {

using Ints = std::vector<int32_t>;

constexpr int kDevices = 3, kElems = 1024, kInputs = 2;

std::string DeviceName(int i) { return absl::StrCat("cpu:", i); }

// A graph, and what it does on the host.
struct RandomGraph {
  struct Step {
    enum Kind { kAdd, kReverse, kCopy } kind;
    int a, b;  // Indices of values; kCopy: b is the device.
  };
  std::vector<Step> steps;
  std::vector<int> outputs;
  TensorGraph graph;

  // The value of each output.
  std::vector<Ints> Evaluate(const std::vector<Ints>& inputs) const {
    std::vector<Ints> values = inputs;
    for (const Step& s : steps) {
      Ints v = values[s.a];
      if (s.kind == Step::kAdd) {
        for (int i = 0; i < kElems; ++i) {
          v[i] = static_cast<int32_t>(static_cast<uint32_t>(v[i]) +
                                      static_cast<uint32_t>(values[s.b][i]));
        }
      } else if (s.kind == Step::kReverse) {
        std::reverse(v.begin(), v.end());
      }
      values.push_back(std::move(v));
    }
    std::vector<Ints> result;
    for (int o : outputs) result.push_back(values[o]);
    return result;
  }
};

RandomGraph MakeGraph(std::mt19937_64& random, int num_steps) {
  RandomGraph g;
  GraphBuilder b;
  std::vector<tensor::Source> values;
  std::vector<int> device;
  for (int i = 0; i < kInputs; ++i) {
    values.emplace_back(b.Input(i, DType::kInt32, {kElems}, DeviceName(i)));
    device.push_back(i);
  }
  const auto pick = [&](size_t n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < num_steps; ++i) {
    // Of the newest few, so that graphs are deep and memory is used again.
    const int a = std::max(0, static_cast<int>(values.size()) - 1 - pick(6));
    RandomGraph::Step step = {RandomGraph::Step::kReverse, a, 0};
    int on = device[a];
    if (pick(3) == 0) {
      step = {RandomGraph::Step::kCopy, a, pick(kDevices)};
      on = step.b;
      values.emplace_back(b.Copy(values[a], DeviceName(on)));
    } else if (pick(3) == 0) {
      values.emplace_back(b.Contiguous(b.Flip(values[a], {0})));
    } else {
      int other = a;
      for (int tries = 0; tries < 10; ++tries) {
        const int candidate = pick(values.size());
        if (device[candidate] == on) other = candidate;
      }
      step = {RandomGraph::Step::kAdd, a, other};
      values.emplace_back(b.Contiguous(b.Alu(Op::kAdd, {values[a], values[other]})));
    }
    device.push_back(on);
    g.steps.push_back(step);
  }
  std::vector<tensor::Source> outputs;
  for (int i = 0; i < 3; ++i) {
    g.outputs.push_back(static_cast<int>(values.size()) - 1 - 3 * i);
    outputs.push_back(values[g.outputs.back()]);
  }
  g.graph = Finish(std::move(b), outputs);
  return g;
}

TEST(MultiDevice, RandomGraphsWithManyRunsInFlight) {
  Registry registry;
  KILN_ASSERT_OK(cpu::RegisterCpuBackend(registry, {.num_devices = kDevices}));
  KILN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine, Engine::Create(registry, {}));
  std::mt19937_64 random(1);
  size_t most_segments = 0;
  for (int round = 0; round < 30; ++round) {
    const RandomGraph g = MakeGraph(random, 20 + round);
    struct Run {
      std::vector<Ints> inputs;
      RunResult result;
    };
    std::vector<Run> runs;
    for (int r = 0; r < 12; ++r) {
      Run run;
      std::vector<Binding> bindings;
      for (int i = 0; i < kInputs; ++i) {
        Ints& values = run.inputs.emplace_back(kElems);
        for (int32_t& v : values) v = static_cast<int32_t>(random());
        bindings.push_back({i, Upload(*engine, values, DeviceName(i))});
      }
      KILN_ASSERT_OK_AND_ASSIGN(run.result,
                                engine->Run(g.graph, {.inputs = bindings, .variables = {}}));
      runs.push_back(std::move(run));
    }
    for (const Run& run : runs) {
      const std::vector<Ints> expected = g.Evaluate(run.inputs);
      for (size_t o = 0; o < expected.size(); ++o) {
        ASSERT_THAT(Read<int32_t>(*engine, run.result.outputs[o]),
                    support::IsOkAndHolds(expected[o]));
      }
    }
    KILN_ASSERT_OK_AND_ASSIGN(const auto runner, engine->Prepare(g.graph));
    most_segments = std::max(most_segments, runner->plan().segments.size());
  }
  EXPECT_GT(most_segments, 5);  // There was something to order.
}

}  // namespace
}  // namespace kiln::runtime
