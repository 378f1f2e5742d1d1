// What the engine costs beside the kernels: on the device null:0, which has none.
#include <benchmark/benchmark.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

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
    // As kilnd does: it triples what a lock costs.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
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

// The same, on the caller's thread: without the time in which another one wakes up.
void BM_ReplayHere(benchmark::State& state) {
  Setup s(state.range(0));
  const auto runner = *s.engine->Capture(s.graph);
  const auto stream = s.engine->NewStream();
  for (auto _ : state) {
    const auto result = runner->Run({.inputs = s.inputs,
                                     .variables = s.variables,
                                     .stream = stream.get(),
                                     .run_here_if_idle = true});
    if (!result.ok() || !result->Await().ok()) state.SkipWithError("failed");
  }
}
BENCHMARK(BM_ReplayHere)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

// Two clients with the same graph at one time: each run of both.
void BM_TwoStreams(benchmark::State& state) {
  Setup s(state.range(0));
  const auto runner = *s.engine->Capture(s.graph);
  const std::shared_ptr<Stream> streams[] = {s.engine->NewStream(), s.engine->NewStream()};
  for (auto _ : state) {
    RunResult results[2];
    for (int i = 0; i < 2; ++i) {
      results[i] =
          *runner->Run({.inputs = s.inputs, .variables = s.variables, .stream = streams[i].get()});
    }
    for (const RunResult& result : results) {
      if (!result.Await().ok()) state.SkipWithError("failed");
    }
  }
}
BENCHMARK(BM_TwoStreams)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

// A copy to the host, on the caller's thread.
void BM_CopyOutHere(benchmark::State& state) {
  Setup s(1);
  const auto stream = s.engine->NewStream();
  for (auto _ : state) {
    const auto out = s.engine->CopyOut(*stream, s.inputs[0].buffer, 0, state.range(0),
                                       {.run_here_if_idle = true});
    if (!out.ok() || !Await(out->done).ok()) state.SkipWithError("failed");
  }
}
BENCHMARK(BM_CopyOutHere)->Arg(8)->Arg(256);

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
