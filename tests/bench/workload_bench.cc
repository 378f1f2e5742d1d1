// What whole workloads cost from graph to result: scheduling, lowering, the first result, one from
// the disk cache in this process and in a new one, and one more. (Machine code: model_bench.)
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/codegen/lower_kernel.h"
#include "core/dtype/check.h"
#include "core/schedule/schedule.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/new_process.h"
#include "tests/bench/workloads.h"

namespace kiln::bench {
namespace {

using replay::KernelsOf;

void BM_Schedule(benchmark::State& state, const Workload& workload) {
  double kernels = 0;
  for (auto _ : state) {
    state.PauseTiming();
    tensor::TensorGraph graph = workload.graph();
    state.ResumeTiming();
    auto schedule = schedule::MakeSchedule(*graph.graph, graph.sink, {.default_device = kDevice});
    KILN_CHECK(schedule.ok());
    state.PauseTiming();
    kernels = static_cast<double>(KernelsOf(*schedule).size());
    graph = {};
    state.ResumeTiming();
  }
  state.counters["kernels"] = kernels;
}

// Schedule and lowering of all kernels, on one thread, without caches and without LLVM.
void BM_ScheduleAndLower(benchmark::State& state, const Workload& workload) {
  Machine machine;
  const codegen::Target& target = machine.device().target();
  double kernels = 0;
  for (auto _ : state) {
    state.PauseTiming();
    tensor::TensorGraph graph = workload.graph();
    state.ResumeTiming();
    Graph& g = *graph.graph;
    const auto schedule = schedule::MakeSchedule(g, graph.sink, {.default_device = kDevice});
    KILN_CHECK(schedule.ok());
    const std::vector<Ref> all = KernelsOf(*schedule);
    for (Ref kernel : all) KILN_CHECK(codegen::LowerKernel(g, kernel, target).ok());
    state.PauseTiming();
    kernels = static_cast<double>(all.size());
    graph = {};
    state.ResumeTiming();
  }
  state.counters["kernels"] = kernels;
  if (workload.reference_ms.has_value()) {
    state.counters["reference_ms"] = *workload.reference_ms;
    state.counters["times_reference"] = benchmark::Counter(
        *workload.reference_ms * 1e-3, benchmark::Counter::kIsIterationInvariantRate);
  }
}

// From the graph to the first result on a machine that has run nothing yet: schedule, lower, compile, run.
void MeasureFirstResults(benchmark::State& state, const Workload& workload,
                         const std::optional<std::string>& cache_folder) {
  for (auto _ : state) {
    state.PauseTiming();
    auto machine = std::make_unique<Machine>(cache_folder);
    const tensor::TensorGraph graph = workload.graph();
    const auto inputs = machine->Upload(graph, workload.contents(graph));
    state.ResumeTiming();
    const auto runner = machine->engine().Prepare(graph);
    KILN_CHECK(runner.ok());
    machine->Run(**runner, inputs, workload.variables);
    state.PauseTiming();
    machine = nullptr;
    state.ResumeTiming();
  }
}

void BM_FirstResult(benchmark::State& state, const Workload& workload) {
  MeasureFirstResults(state, workload, std::nullopt);
}

// A folder with the objects of the workload's kernels.
class CacheFolder {
 public:
  explicit CacheFolder(const Workload& workload)
      : path_(std::filesystem::temp_directory_path() /
              ("kiln_model_bench_" + std::to_string(getpid()))) {
    KILN_CHECK(Machine(path_).engine().Prepare(workload.graph()).ok());
  }
  ~CacheFolder() { std::filesystem::remove_all(path_); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// With the kernels' objects on disk, on an engine that has run nothing yet.
void BM_FirstResultFromDisk(benchmark::State& state, const Workload& workload) {
  MeasureFirstResults(state, workload, CacheFolder(workload).path());
}

// The same in a new process: making engine and device, scheduling, finding and loading the kernels,
// running. Beside these parts, what is not counted: loading the program until its main, and uploading
// the inputs, weights among them, which costs what the machine takes for memory not touched before.
void BM_FirstResultInNewProcess(benchmark::State& state, const Workload& workload) {
  const CacheFolder folder(workload);
  FirstResultTimes sum;
  for (auto _ : state) {
    const FirstResultTimes t = FirstResultInNewProcess(workload.name, folder.path());
    state.SetIterationTime((t.engine + t.prepare + t.run) * 1e-3);
    sum.start += t.start;
    sum.engine += t.engine;
    sum.upload += t.upload;
    sum.prepare += t.prepare;
    sum.run += t.run;
  }
  const auto mean = [](double ms) {
    return benchmark::Counter(ms, benchmark::Counter::kAvgIterations);
  };
  state.counters["before_main_ms"] = mean(sum.start);
  state.counters["engine_ms"] = mean(sum.engine);
  state.counters["upload_ms"] = mean(sum.upload);
  state.counters["prepare_ms"] = mean(sum.prepare);
  state.counters["run_ms"] = mean(sum.run);
}

// A captured graph once more.
void BM_Replay(benchmark::State& state, const Workload& workload) {
  Machine machine;
  const tensor::TensorGraph graph = workload.graph();
  const auto inputs = machine.Upload(graph, workload.contents(graph));
  const auto runner = machine.engine().Capture(graph);
  KILN_CHECK(runner.ok());
  for (auto _ : state) machine.Run(**runner, inputs, workload.variables);
}

void RegisterAll() {
  using Body = void (*)(benchmark::State&, const Workload&);
  const std::vector<std::pair<std::string, Body>> bodies = {
      {"Schedule", BM_Schedule},
      {"ScheduleAndLower", BM_ScheduleAndLower},
      {"FirstResult", BM_FirstResult},
      {"FirstResultFromDisk", BM_FirstResultFromDisk},
      {"FirstResultInNewProcess", BM_FirstResultInNewProcess},
      {"Replay", BM_Replay}};
  for (const auto& [name, body] : bodies) {
    for (const Workload& workload : Workloads()) {
      auto* benchmark = benchmark::RegisterBenchmark(
          ("BM_" + name + "/" + workload.name).c_str(),
          [body = body, &workload](benchmark::State& state) { body(state, workload); });
      benchmark->Unit(benchmark::kMillisecond);
      if (body == BM_FirstResultInNewProcess) {
        benchmark->UseManualTime();
      } else {
        benchmark->UseRealTime();
      }
    }
  }
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  kiln::bench::RunIfAsked(argc, argv);
  kiln::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
