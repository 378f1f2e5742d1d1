// Nanoseconds per offered node: the driver, matching and building, with a table of simple rules.

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"

#include "core/dtype/check.h"
#include "core/rewrite/driver.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;

// What the Python reference takes for an offer with its simplest rules.
constexpr double kReferenceNsPerOffer = 3'600;

// Rules that look at one node and its sources: what most rules of a compiler are like.
constexpr auto kIdentity =
    rules(rule(x + 0, x), rule(x * 1, x), rule(x * 0, 0), rule(x / 1, x), rule(x % 1, 0),
          rule(x& x, x), rule(x | x, x), rule(x ^ x, 0), rule(x % x, 0), rule(x < x, false),
          rule(max(x, x), x), rule((x ^ y) ^ y, x), rule((x % y) % y, x % y),
          rule(where(p, x, x), x), rule(where(p, where(q, x, y), y), where(p& q, x, y)),
          rule(where(p, x, where(q, x, y)), where(p | q, x, y)), rule((p != true) != true, p));
constexpr auto kFolding =
    rules(rule(c0 + c1, c0 + c1), rule(c0* c1, c0* c1), rule(c0 / c1, c0 / c1).when(c1 != 0),
          rule(c0 % c1, c0 % c1).when(c1 != 0), rule(c0 < c1, c0 < c1),
          rule(max(c0, c1), max(c0, c1)), rule(where(true, x, y), x), rule(where(false, x, y), y));
constexpr auto kTerms =
    rules(rule((x + c0) + c1, x + (c0 + c1)), rule((x * c0) * c1, x*(c0* c1)),
          rule(x* c0 + x * c1, x*(c0 + c1)), rule((y + x * c0) + x * c1, y + x * (c0 + c1)),
          rule(x + x * c0, x*(c0 + 1)), rule(x + x, x * 2), rule((y + x) + x, y + x * 2),
          rule((x + c0) + y, (x + y) + c0), rule((x * c0) * y, (x * y) * c0),
          rule(i % c0, i).when(vmin(i) >= 0 && vmax(i) < c0),
          rule(i / c0, 0).when(vmin(i) >= 0 && vmax(i) < c0), rule(i < c0, true).when(vmax(i) < c0),
          rule(i < c0, false).when(vmin(i) >= c0), rule((x / c0) * c0 + x % c0, x));
constexpr RuleTable kIdentityTable = MakeTable<kIdentity, Domain::kAny>("identity");
constexpr RuleTable kFoldingTable = MakeTable<kFolding, Domain::kAny>("folding");
constexpr RuleTable kTermsTable = MakeTable<kTerms, Domain::kAny>("terms");

const RuleSet& SimpleRules() {
  static const RuleSet rules = kIdentityTable + kFoldingTable + kTermsTable;
  return rules;
}

// A random DAG of about `nodes` index nodes, of which roughly a fifth can be rewritten. All hang below the result.
Ref RandomGraph(Graph& g, int64_t nodes, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<Ref> pool;
  for (int32_t i = 0; i < 16; ++i) pool.push_back(g.Range(4 + i, i));
  const auto pick = [&] {
    const size_t window = std::min<size_t>(pool.size(), 256);
    return pool[pool.size() - 1 - rng() % window];
  };
  std::vector<Ref> tops;
  while (static_cast<int64_t>(g.size()) < nodes) {
    Ref n = pick();
    switch (rng() % 8) {
      case 0:
        n = g.Add(n, g.Index(rng() % 8));
        break;
      case 1:
        n = g.Mul(n, g.Index(rng() % 8 + 1));
        break;
      case 2:
        n = g.Mod(n, g.Index(rng() % 64 + 1));
        break;
      case 3:
        n = g.IDiv(n, g.Index(rng() % 8 + 1));
        break;
      case 4:
        n = g.Max(n, pick());
        break;
      case 5:
        n = g.Where(g.Lt(n, g.Index(rng() % 100)), n, pick());
        break;
      default:
        n = g.Add(n, pick());
        break;
    }
    pool.push_back(n);
    tops.push_back(n);
  }
  while (tops.size() > 1) {
    std::vector<Ref> next;
    for (size_t i = 0; i < tops.size(); i += 1000) {
      next.push_back(
          g.Make(Op::kStack, DType::kIndex,
                 absl::MakeConstSpan(tops).subspan(i, std::min<size_t>(1000, tops.size() - i))));
    }
    tops = std::move(next);
  }
  return tops[0];
}

void Report(benchmark::State& state, int64_t offered, int64_t hits) {
  const auto rate = benchmark::Counter::kIsRate | benchmark::Counter::kInvert;
  state.counters["s_per_offer"] = benchmark::Counter(static_cast<double>(offered), rate);
  state.counters["offers"] = static_cast<double>(offered) / static_cast<double>(state.iterations());
  state.counters["hits"] = static_cast<double>(hits) / static_cast<double>(state.iterations());
  state.counters["reference_s_per_offer"] = kReferenceNsPerOffer * 1e-9;
}

// Everything that is built is new to the graph.
void BM_RewriteFreshGraph(benchmark::State& state) {
  const RewriteCounters before = ThreadCounters();
  for (auto _ : state) {
    state.PauseTiming();
    auto g = std::make_unique<Graph>();
    Ref root = RandomGraph(*g, state.range(0), 1);
    state.ResumeTiming();
    KILN_CHECK(Rewrite(*g, root, {.name = "simple", .rules = SimpleRules()}).ok());
    state.PauseTiming();
    g.reset();
    state.ResumeTiming();
  }
  Report(state, ThreadCounters().offered - before.offered, ThreadCounters().hits - before.hits);
}
BENCHMARK(BM_RewriteFreshGraph)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(500'000)
    ->Arg(1'000'000);

// The same work again in the same graph: what is built exists.
void BM_RewriteAgain(benchmark::State& state) {
  Graph g;
  Ref root = RandomGraph(g, state.range(0), 1);
  KILN_CHECK(Rewrite(g, root, {.name = "simple", .rules = SimpleRules()}).ok());
  const RewriteCounters before = ThreadCounters();
  for (auto _ : state) {
    KILN_CHECK(Rewrite(g, root, {.name = "simple", .rules = SimpleRules()}).ok());
  }
  Report(state, ThreadCounters().offered - before.offered, ThreadCounters().hits - before.hits);
}
BENCHMARK(BM_RewriteAgain)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(500'000);

// With the trace on, without a clock: what it costs to record.
void BM_RewriteTraced(benchmark::State& state) {
  Graph g;
  Ref root = RandomGraph(g, state.range(0), 1);
  const RewriteCounters before = ThreadCounters();
  for (auto _ : state) {
    Trace trace;
    KILN_CHECK(Rewrite(g, root, {.name = "simple", .rules = SimpleRules(), .trace = &trace}).ok());
  }
  Report(state, ThreadCounters().offered - before.offered, ThreadCounters().hits - before.hits);
}
BENCHMARK(BM_RewriteTraced)->Arg(10'000);

}  // namespace
}  // namespace kiln::rewrite
