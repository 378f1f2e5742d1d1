// What a gradient costs. Items are nodes that are differentiated: the inverse of items_per_second is
// the time per node, which should not depend on their number.
#include <vector>

#include "benchmark/benchmark.h"

#include "core/tensor/gradient/gradient.h"
#include "core/tensor/graph_builder.h"

namespace kiln::tensor {
namespace {

constexpr DType kF32 = DType::kFloat32;

// Layers of about ten nodes each: matrix product, bias, rectifier, scale. Slot i + 1: weights.
absl::StatusOr<TensorGraph> Layers(int64_t layers, bool with_gradients) {
  GraphBuilder b;
  constexpr int64_t kWidth = 32;
  auto x = b.Input(0, kF32, {kWidth, kWidth});
  std::vector<Source> ws;
  const auto zero = b.Expand(b.Reshape(b.Const(kF32, Scalar::Float(0)), {1, 1}), {kWidth, kWidth});
  for (int64_t i = 0; i < layers; ++i) {
    auto w = b.Input(i + 1, kF32, {kWidth, kWidth});
    ws.emplace_back(w);
    auto left = b.Expand(b.Reshape(x, {kWidth, kWidth, 1}), {kWidth, kWidth, kWidth});
    auto right = b.Expand(b.Reshape(w, {1, kWidth, kWidth}), {kWidth, kWidth, kWidth});
    auto product =
        b.Reshape(b.Reduce(Op::kAdd, b.Alu(Op::kMul, {left, right}), {1}), {kWidth, kWidth});
    x = b.Alu(Op::kMax, {b.Alu(Op::kSin, {b.Alu(Op::kAdd, {product, x})}), zero});
  }
  auto loss = b.Reduce(Op::kAdd, x, {0, 1});
  std::vector<Source> outputs = {loss};
  for (int64_t i = 0; with_gradients && i < layers; ++i) {
    outputs.emplace_back(b.Gradient(loss, std::nullopt, ws, i));
  }
  return std::move(b).Finish(outputs);
}

void Report(benchmark::State& state, int64_t nodes, int64_t made) {
  state.SetItemsProcessed(state.iterations() * nodes);
  state.counters["made_per_node"] = static_cast<double>(made) / static_cast<double>(nodes);
}

// The pass alone, for all weights.
void BM_Pass(benchmark::State& state) {
  int64_t nodes = 0, made = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto graph = *Layers(state.range(0), /*with_gradients=*/false);
    Graph& g = *graph.graph;
    nodes = g.size();
    std::vector<Ref> xs;
    for (uint32_t id = 0; id < g.size(); ++id) {
      if (g.At(id)->Is(Op::kInput)) xs.push_back(g.At(id));
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(Gradients(g, graph.sink->src(0), nullptr, xs));
    state.PauseTiming();
    made = g.size() - nodes;
    graph.graph.reset();
    state.ResumeTiming();
  }
  Report(state, nodes, made);
}

// Building forward and backward, as for a stranger: with shapes, placement and verification.
void BM_Build(benchmark::State& state) {
  int64_t nodes = 0, made = 0;
  for (auto _ : state) {
    const auto graph = *Layers(state.range(0), /*with_gradients=*/true);
    made = graph.graph->size();
    state.PauseTiming();
    if (nodes == 0) nodes = Layers(state.range(0), /*with_gradients=*/false)->graph->size();
    state.ResumeTiming();
  }
  Report(state, nodes, made - nodes);
}

// Functions of functions.
void BM_Chain(benchmark::State& state) {
  int64_t made = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto g = std::make_unique<Graph>();
    Ref x = g->Make(Op::kInput, kF32, Dims(*g, {4}), Arg::Int(0)), y = x;
    for (int64_t i = 0; i < state.range(0); ++i) y = g->Unary(Op::kSin, y);
    const int64_t nodes = g->size();
    state.ResumeTiming();
    benchmark::DoNotOptimize(Gradients(*g, y, nullptr, {x}));
    state.PauseTiming();
    made = g->size() - nodes;
    g.reset();
    state.ResumeTiming();
  }
  Report(state, state.range(0), made);
}

BENCHMARK(BM_Pass)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Build)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Chain)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::tensor
