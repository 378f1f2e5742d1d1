// Kernels of the cpu beside what others reach, measured in turns in one run: the ratio counts.
//
// Counters: kiln and ref (GB/s, GFLOP/s or, where there is no reference, nothing), and ratio =
// kiln / ref; all of medians. The time shown is kiln's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "backends/cpu/cpu.h"
#include "core/runtime/engine.h"
#include "tests/bench/kernel_graphs.h"
#include "tests/bench/reference_kernels.h"

namespace kiln::bench {
namespace {

using runtime::Buffer;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// One engine for all. Lives as long as the process.
struct World {
  runtime::Registry registry;
  std::unique_ptr<runtime::Engine> engine;
  static World& Get() {
    static World* const world = [] {
      auto* w = new World();
      if (!cpu::RegisterCpuBackend(w->registry).ok()) std::abort();
      w->engine = *runtime::Engine::Create(w->registry, {});
      return w;
    }();
    return *world;
  }
};

// A graph and its memory.
class Kernel {
 public:
  Kernel(const tensor::TensorGraph& graph, std::vector<int64_t> input_elems, int64_t output_elems) {
    runtime::Engine& engine = *World::Get().engine;
    for (const int64_t n : input_elems) {
      inputs_.push_back({static_cast<int64_t>(inputs_.size()), *engine.Allocate("cpu:0", n * 4)});
      float* data = input(inputs_.size() - 1);
      for (int64_t i = 0; i < n; ++i) data[i] = static_cast<float>(i * 7 % 11 - 5) / 8;
    }
    outputs_.push_back({0, *engine.Allocate("cpu:0", output_elems * 4)});
    runner_ = *engine.Capture(graph);
  }
  void Run() {
    const auto result = runner_->Run({.inputs = inputs_, .variables = {}, .outputs = outputs_});
    if (!result.ok() || !result->Await().ok()) std::abort();
  }
  float* input(size_t i) { return reinterpret_cast<float*>(inputs_[i].buffer->host()); }
  float* output() { return reinterpret_cast<float*>(outputs_[0].buffer->host()); }

 private:
  std::vector<runtime::Binding> inputs_, outputs_;
  std::shared_ptr<runtime::GraphRunner> runner_;
};

// `work`: bytes or operations of one run.
void Compare(benchmark::State& state, Kernel& kernel, const std::function<void()>& reference,
             double work) {
  std::vector<double> own, other;
  kernel.Run();
  if (reference) reference();
  for (auto _ : state) {
    const double start = Now();
    kernel.Run();
    const double middle = Now();
    if (reference) reference();
    const double end = Now();
    state.SetIterationTime(middle - start);
    own.push_back(middle - start);
    other.push_back(end - middle);
  }
  state.counters["kiln"] = work / Median(own) * 1e-9;
  if (!reference) return;
  state.counters["ref"] = work / Median(other) * 1e-9;
  state.counters["ratio"] = Median(other) / Median(own);
}

void BM_Add(benchmark::State& state) {
  const int64_t n = state.range(0);
  Kernel kernel(AddGraph(n), {n, n}, n);
  std::vector<float> out(static_cast<size_t>(n));
  Compare(
      state, kernel, [&] { Add(kernel.input(0), kernel.input(1), out.data(), n); },
      12.0 * static_cast<double>(n));
}
BENCHMARK(BM_Add)->Arg(16 << 20)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_Sum(benchmark::State& state) {
  const int64_t n = state.range(0);
  Kernel kernel(SumGraph(n), {n}, 1);
  Compare(
      state, kernel, [&] { benchmark::DoNotOptimize(Sum(kernel.input(0), n)); },
      4.0 * static_cast<double>(n));
}
BENCHMARK(BM_Sum)->Arg(16 << 20)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_Softmax(benchmark::State& state) {
  const int64_t n = state.range(0);
  Kernel kernel(SoftmaxGraph(n, n), {n * n}, n * n);
  Compare(state, kernel, nullptr, 8.0 * static_cast<double>(n * n));
}
BENCHMARK(BM_Softmax)->Arg(1024)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_LayerNormGelu(benchmark::State& state) {
  const int64_t n = state.range(0);
  Kernel kernel(LayerNormGeluGraph(n, n), {n * n, n, n}, n * n);
  Compare(state, kernel, nullptr, 8.0 * static_cast<double>(n * n));
}
BENCHMARK(BM_LayerNormGelu)->Arg(1024)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_Matmul(benchmark::State& state) {
  const int64_t n = state.range(0);
  Kernel kernel(MatmulGraph(n, n, n), {n * n, n * n}, n * n);
  std::vector<float> out(static_cast<size_t>(n * n));
  const int size = static_cast<int>(n);
  Compare(
      state, kernel,
      [&] { Matmul(kernel.input(0), kernel.input(1), out.data(), size, size, size); },
      2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(BM_Matmul)->Arg(128)->Arg(512)->Arg(1024)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_Conv(benchmark::State& state) {
  const int64_t batch = 8, channels = 64, size = state.range(0);
  Kernel kernel(ConvGraph(batch, channels, channels, size),
                {batch * channels * size * size, channels * channels * 9},
                batch * channels * size * size);
  Conv reference(batch, channels, channels, size);
  Compare(
      state, kernel, [&] { reference.Run(); },
      2.0 * 9 * static_cast<double>(batch * channels * channels * size * size));
}
BENCHMARK(BM_Conv)->Arg(32)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  kiln::bench::WithoutOverrides(argv);
  benchmark::AddCustomContext("threads", std::to_string(kiln::bench::NumThreads()));
  benchmark::AddCustomContext("OpenBLAS", kiln::bench::BlasName());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
