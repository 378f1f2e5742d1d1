// What the engine costs beside the kernels: on the device null:0, which has none.
#include <benchmark/benchmark.h>

#include <memory>
#include <utility>
#include <vector>

#include "backends/null/null.h"
#include "core/runtime/engine.h"
#include "core/runtime/plan_builder.h"
#include "core/tensor/graph_builder.h"

namespace kiln::runtime {
namespace {

constexpr DType kF32 = DType::kFloat32;

// A chain of `kernels` kernels, each of which also reads an input of its own.
tensor::TensorGraph Chain(int64_t kernels) {
  tensor::GraphBuilder b;
  auto x = b.Input(0, kF32, {64});
  for (int64_t i = 1; i <= kernels; ++i) {
    x = b.Contiguous(b.Alu(Op::kAdd, {x, b.Input(i, kF32, {64})}));
  }
  return *std::move(b).Finish({x});
}

struct Setup {
  explicit Setup(int64_t kernels) : graph(Chain(kernels)) {
    if (!null::RegisterNullBackend(registry).ok()) std::abort();
    engine = *Engine::Create(registry, {.default_device = "null:0"});
    for (int64_t i = 0; i <= kernels; ++i) {
      inputs.push_back({i, *engine->Allocate("null:0", 256)});
    }
  }
  Registry registry;
  std::unique_ptr<Engine> engine;
  tensor::TensorGraph graph;
  std::vector<Binding> inputs;
  const VarVals variables;
};

// Until the result is there, of a graph that has been seen before.
void BM_SeenBefore(benchmark::State& state) {
  Setup s(state.range(0));
  for (auto _ : state) {
    const auto result = s.engine->Run(s.graph, {.inputs = s.inputs, .variables = s.variables});
    if (!result.ok() || !result->Await().ok()) state.SkipWithError("failed");
  }
}
BENCHMARK(BM_SeenBefore)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

// The same without looking the graph up.
void BM_Replay(benchmark::State& state) {
  Setup s(state.range(0));
  const auto runner = *s.engine->Capture(s.graph);
  for (auto _ : state) {
    const auto result = runner->Run({.inputs = s.inputs, .variables = s.variables});
    if (!result.ok() || !result->Await().ok()) state.SkipWithError("failed");
  }
}
BENCHMARK(BM_Replay)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

// The same, but only what the caller's thread does.
void BM_ReplaySubmit(benchmark::State& state) {
  Setup s(state.range(0));
  const auto runner = *s.engine->Capture(s.graph);
  for (auto _ : state) {
    const auto result = runner->Run({.inputs = s.inputs, .variables = s.variables});
    state.PauseTiming();
    if (!result.ok() || !result->Await().ok()) state.SkipWithError("failed");
    state.ResumeTiming();
  }
}
BENCHMARK(BM_ReplaySubmit)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

// The digest of a graph that was built anew: three nodes per kernel.
void BM_LookUpNewGraph(benchmark::State& state) {
  Setup s(state.range(0));
  for (auto _ : state) {
    s.graph.digest.reset();
    benchmark::DoNotOptimize(s.engine->Prepare(s.graph));
  }
}
BENCHMARK(BM_LookUpNewGraph)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace kiln::runtime
