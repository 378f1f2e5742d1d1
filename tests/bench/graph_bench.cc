// Making nodes, finding them again, and what facts cost. Items are nodes: items_per_second is nodes
// per second, and its inverse the time per node.
#include <cstdint>
#include <string>

#include "benchmark/benchmark.h"

#include "core/uop/facts.h"
#include "core/uop/graph.h"
#include "core/uop/parse.h"
#include "core/uop/substitute.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::uop {
namespace {

// Index arithmetic as kernels have it: about `nodes` distinct nodes, each used by the next few, a
// third of them constants' users.
Ref BuildExpressions(Graph& g, int64_t nodes) {
  Ref i = g.Variable("i", 0, 1023), r = g.Range(64, 0);
  Ref sum = i;
  for (int64_t k = 0; g.size() < nodes; ++k) {
    Ref row = g.Add(g.Mul(i, g.Index(k)), r);
    sum = g.Add(sum, g.Mod(row, g.Index(k % 61 + 1)));
  }
  return sum;
}

// Every iteration has a graph of its own, made from nothing: what a compile job pays.
void BM_MakeNew(benchmark::State& state) {
  int64_t nodes = 0, bytes = 0;
  for (auto _ : state) {
    Graph g;
    benchmark::DoNotOptimize(BuildExpressions(g, state.range(0)));
    nodes = g.size();
    bytes = g.capacity_bytes();
  }
  state.SetItemsProcessed(state.iterations() * nodes);
  state.counters["bytes_per_node"] = static_cast<double>(bytes) / static_cast<double>(nodes);
}

// The same calls again: nothing is made.
void BM_MakeKnown(benchmark::State& state) {
  Graph g;
  Ref root = BuildExpressions(g, state.range(0));
  const int64_t nodes = g.size();
  for (auto _ : state) {
    for (UOpId id = 0; id < nodes; ++id) {
      Ref n = g.At(id);
      benchmark::DoNotOptimize(g.Make(n->op, n->dtype, n->src(), n->arg, n->tag));
    }
  }
  benchmark::DoNotOptimize(root);
  state.SetItemsProcessed(state.iterations() * nodes);
}

// Facts are kept with the nodes, so each iteration needs a new graph, made while the clock stands still.
template <typename Fn>
void OnFreshGraphs(benchmark::State& state, Fn fn) {
  int64_t nodes = 0, bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    {
      Graph g;
      Ref root = BuildExpressions(g, state.range(0));
      nodes = g.size();
      const int64_t before = g.capacity_bytes();
      state.ResumeTiming();
      fn(g, root);
      state.PauseTiming();
      bytes = g.capacity_bytes() - before;
    }
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * nodes);
  state.counters["bytes_per_node"] = static_cast<double>(bytes) / static_cast<double>(nodes);
}

void BM_BoundsOf(benchmark::State& state) {
  OnFreshGraphs(state, [](Graph& g, Ref root) { benchmark::DoNotOptimize(BoundsOf(g, root)); });
}
void BM_KeyOf(benchmark::State& state) {
  OnFreshGraphs(state, [](Graph& g, Ref root) { benchmark::DoNotOptimize(KeyOf(g, root)); });
}
void BM_RangesOf(benchmark::State& state) {
  OnFreshGraphs(state, [](Graph& g, Ref root) { benchmark::DoNotOptimize(RangesOf(g, root)); });
}
void BM_ShapeOf(benchmark::State& state) {
  OnFreshGraphs(state, [](Graph& g, Ref root) { benchmark::DoNotOptimize(ShapeOf(g, root).ok()); });
}

void BM_Toposort(benchmark::State& state) {
  Graph g;
  Ref root = BuildExpressions(g, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Toposort(root));
  state.SetItemsProcessed(state.iterations() * int64_t{g.size()});
}

void BM_Substitute(benchmark::State& state) {
  OnFreshGraphs(state, [](Graph& g, Ref root) {
    const Replacement replacement = {g.Range(64, 0), g.Range(32, 1)};
    benchmark::DoNotOptimize(Substitute(g, root, {&replacement, 1}).ok());
  });
}

void BM_ToText(benchmark::State& state) {
  Graph g;
  Ref root = BuildExpressions(g, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ToText(root));
  state.SetItemsProcessed(state.iterations() * int64_t{g.size()});
}

void BM_Parse(benchmark::State& state) {
  Graph g;
  const std::string text = ToText(BuildExpressions(g, state.range(0)));
  for (auto _ : state) {
    Graph parsed;
    benchmark::DoNotOptimize(Parse(parsed, text).ok());
  }
  state.SetItemsProcessed(state.iterations() * int64_t{g.size()});
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMicrosecond);
}
BENCHMARK(BM_MakeNew)->Apply(Sizes);
BENCHMARK(BM_MakeKnown)->Apply(Sizes);
BENCHMARK(BM_BoundsOf)->Apply(Sizes);
BENCHMARK(BM_KeyOf)->Apply(Sizes);
BENCHMARK(BM_RangesOf)->Apply(Sizes);
BENCHMARK(BM_ShapeOf)->Apply(Sizes);
BENCHMARK(BM_Toposort)->Apply(Sizes);
BENCHMARK(BM_Substitute)->Apply(Sizes);
BENCHMARK(BM_ToText)->Apply(Sizes);
BENCHMARK(BM_Parse)->Apply(Sizes);

}  // namespace
}  // namespace kiln::uop
