// How long the simplifier takes: per expression of the fixtures, and as sums and graphs grow.

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

#include "core/dtype/check.h"
#include "core/rewrite/driver.h"
#include "core/symbolic/simplify.h"
#include "core/uop/facts.h"
#include "tests/replay/graph_json.h"

namespace kiln::symbolic {
namespace {

// Of the Python reference on a machine like this one: with its simplest rules, and with the full set.
constexpr double kReferenceFullNsPerOffer = 15'500;

std::vector<replay::Json> FixtureExpressions() {
  std::vector<replay::Json> records;
  const absl::Status status =
      replay::ForEachRecord("tests/fixtures/symbolic.jsonl", [&](const replay::Record& r) {
        if (r.json.contains("nodes") && r.json.contains("root")) records.push_back(r.json);
      });
  KILN_CHECK(status.ok());
  return records;
}

double NowUs() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

// The full set on every expression of the symbolic fixtures, each in a fresh graph. The counters are microseconds per expression.
void BM_SimplifyFixtures(benchmark::State& state) {
  const std::vector<replay::Json> records = FixtureExpressions();
  std::vector<double> best(records.size(), 1e9);
  const rewrite::RewriteCounters before = rewrite::ThreadCounters();
  double total_us = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < records.size(); ++i) {
      replay::RecordGraph record;
      if (!record.Load(records[i]["nodes"]).ok()) continue;
      const absl::StatusOr<Ref> root = record.At(records[i]["root"]);
      if (!root.ok()) continue;
      const double start = NowUs();
      benchmark::DoNotOptimize(Simplify(record.graph(), *root));
      const double us = NowUs() - start;
      total_us += us;
      best[i] = std::min(best[i], us);
    }
  }
  best.erase(std::remove(best.begin(), best.end(), 1e9), best.end());
  std::sort(best.begin(), best.end());
  const auto offered = static_cast<double>(rewrite::ThreadCounters().offered - before.offered);
  state.counters["median_us"] = best[best.size() / 2];
  state.counters["p90_us"] = best[best.size() * 9 / 10];
  state.counters["worst_us"] = best.back();
  state.counters["expressions"] = static_cast<double>(best.size());
  state.counters["ns_per_offer"] = total_us * 1000 / offered;
  state.counters["reference_ratio"] = kReferenceFullNsPerOffer * offered / (total_us * 1000);
}
BENCHMARK(BM_SimplifyFixtures)->Unit(benchmark::kMillisecond)->MinTime(2);

enum class Shape { kAscending, kScattered, kBalanced };

// A sum of n products of variables, as a chain in order, as a chain out of order, or as a balanced tree.
Ref MakeSumOf(Graph& g, int64_t n, Shape shape) {
  std::vector<Ref> terms;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = shape == Shape::kAscending ? i : (i * 7919) % n;
    terms.push_back(g.Mul(g.Variable("v" + std::to_string(at), 0, 15), g.Index(i % 5 + 1)));
  }
  if (shape != Shape::kBalanced) {
    Ref sum = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) sum = g.Add(sum, terms[i]);
    return sum;
  }
  while (terms.size() > 1) {
    std::vector<Ref> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) next.push_back(g.Add(terms[i], terms[i + 1]));
    if (terms.size() % 2 == 1) next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms[0];
}

void BM_SimplifySum(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto g = std::make_unique<Graph>();
    Ref sum = MakeSumOf(*g, state.range(0), static_cast<Shape>(state.range(1)));
    state.ResumeTiming();
    benchmark::DoNotOptimize(Simplify(*g, sum));
    state.PauseTiming();
    g.reset();
    state.ResumeTiming();
  }
  state.counters["ns_per_term"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_SimplifySum)
    ->ArgNames({"terms", "shape"})
    ->ArgsProduct({{10, 100, 1000, 5000}, {0, 1, 2}});

// A product of n sums of two variables each: the factors of a long product are n-ary as well.
void BM_SimplifyProduct(benchmark::State& state) {
  for (auto _ : state) {
    Graph g;
    Ref product = g.Variable("a", 0, 3);
    for (int64_t i = 1; i < state.range(0); ++i) {
      product = g.Max(product, g.Variable("v" + std::to_string((i * 7919) % state.range(0)), 0, 3));
    }
    benchmark::DoNotOptimize(Simplify(g, product));
  }
  state.counters["ns_per_operand"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_SimplifyProduct)->Arg(10)->Arg(100)->Arg(1000)->Arg(5000);

// n index expressions as a reshape makes them, side by side under one SINK-like stack of sums.
Ref MakeIndexGraph(Graph& g, int64_t nodes) {
  std::vector<Ref> parts;
  for (int64_t i = 0; static_cast<int64_t>(g.size()) < nodes; ++i) {
    Ref a = g.Variable("a" + std::to_string(i), 0, 63), b = g.Range(16, static_cast<int32_t>(i));
    Ref flat = g.Add(g.Mul(a, g.Index(16)), b);
    Ref q = g.IDiv(g.Add(flat, g.Index(i % 7)), g.Index(8)), r = g.Mod(flat, g.Index(8));
    parts.push_back(g.Lt(g.Add(g.Mul(q, g.Index(8)), r), g.Index(i % 900)));
  }
  while (parts.size() > 1) {
    std::vector<Ref> next;
    for (size_t i = 0; i < parts.size(); i += 1000) {
      next.push_back(
          g.Make(Op::kStack, DType::kBool,
                 absl::MakeConstSpan(parts).subspan(i, std::min<size_t>(1000, parts.size() - i))));
    }
    parts = std::move(next);
  }
  return parts[0];
}

void BM_SimplifyGraph(benchmark::State& state) {
  const rewrite::RewriteCounters before = rewrite::ThreadCounters();
  int64_t nodes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto g = std::make_unique<Graph>();
    Ref root = MakeIndexGraph(*g, state.range(0));
    nodes += g->size();
    state.ResumeTiming();
    benchmark::DoNotOptimize(Simplify(*g, root));
    state.PauseTiming();
    g.reset();
    state.ResumeTiming();
  }
  const auto offered = static_cast<double>(rewrite::ThreadCounters().offered - before.offered);
  const auto rate = benchmark::Counter::kIsRate | benchmark::Counter::kInvert;
  state.counters["ns_per_offer"] = benchmark::Counter(offered, rate);
  state.counters["ns_per_node"] = benchmark::Counter(static_cast<double>(nodes), rate);
}
BENCHMARK(BM_SimplifyGraph)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::symbolic
