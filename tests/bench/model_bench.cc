// What the model workloads of the fixtures cost from graph to result: scheduling, lowering, machine
// code, the first result, one from the disk cache, and one more.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu.h"
#include "backends/llvm/compile.h"
#include "core/codegen/lower_kernel.h"
#include "core/dtype/check.h"
#include "core/runtime/engine.h"
#include "core/schedule/schedule.h"
#include "tests/bench/bench_models.h"
#include "tests/replay/graphs_data.h"
#include "tests/replay/graphs_import.h"
#include "tests/replay/record.h"

namespace kiln::replay {
namespace {

constexpr char kDevice[] = "cpu:0";

// What the Python reference takes for schedule and lowering, in milliseconds; 0: not measured.
double ReferenceMs(const std::string& id) {
  if (id.find("resnet18") != std::string::npos) return 1940;
  if (id.find("gpt_4") != std::string::npos) return 545;
  return 0;
}

// A CPU and an engine on it. Kernels are kept in `cache_folder`, if there is one.
struct Machine {
  explicit Machine(std::optional<std::string> cache_folder = std::nullopt) {
    KILN_CHECK(cpu::RegisterCpuBackend(registry, {}).ok());
    registry.Alias("host", kDevice);
    auto made = runtime::Engine::Create(
        registry, {.default_device = kDevice, .cache_folder = std::move(cache_folder)});
    KILN_CHECK(made.ok());
    engine = *std::move(made);
  }

  std::vector<runtime::Binding> Upload(const Model& model, const ImportedGraph& graph) {
    const auto data = GraphData::Open(kModels);
    KILN_CHECK(data.ok());
    std::vector<runtime::Binding> inputs;
    for (const tensor::TensorInput& input : graph.graph.inputs) {
      const ImportedInput& from = graph.inputs[static_cast<size_t>(input.slot)];
      const auto bytes =
          data->Input(model.json["inputs"][std::to_string(from.node)], from.dtype, from.elems);
      KILN_CHECK(bytes.ok());
      auto buffer = engine->Upload(kDevice, *bytes);
      KILN_CHECK(buffer.ok());
      inputs.push_back({.slot = input.slot, .buffer = *std::move(buffer)});
    }
    return inputs;
  }
  runtime::VarVals Variables(const Model& model) const {
    runtime::VarVals values;
    if (!model.json.contains("var_vals")) return values;
    for (const auto& [name, value] : model.json["var_vals"].items()) values[name] = value;
    return values;
  }
  void Run(runtime::GraphRunner& runner, const std::vector<runtime::Binding>& inputs,
           const runtime::VarVals& variables) {
    const auto result = runner.Run({.inputs = inputs, .variables = variables});
    KILN_CHECK(result.ok() && result->Await().ok());
  }

  runtime::Registry registry;
  std::unique_ptr<runtime::Engine> engine;
};

void BM_Schedule(benchmark::State& state, const Model& model) {
  double kernels = 0;
  for (auto _ : state) {
    state.PauseTiming();
    ImportedGraph graph = model.Graph();
    state.ResumeTiming();
    auto schedule =
        schedule::MakeSchedule(*graph.graph.graph, graph.graph.sink, {.default_device = kDevice});
    KILN_CHECK(schedule.ok());
    state.PauseTiming();
    kernels = static_cast<double>(KernelsOf(*schedule).size());
    graph = {};
    state.ResumeTiming();
  }
  state.counters["kernels"] = kernels;
}

// Schedule and lowering of all kernels, on one thread, without caches and without LLVM.
void BM_ScheduleAndLower(benchmark::State& state, const Model& model) {
  Machine machine;
  const codegen::Target& target = (*machine.registry.Get(kDevice))->target();
  double kernels = 0;
  for (auto _ : state) {
    state.PauseTiming();
    ImportedGraph graph = model.Graph();
    state.ResumeTiming();
    Graph& g = *graph.graph.graph;
    const auto schedule = schedule::MakeSchedule(g, graph.graph.sink, {.default_device = kDevice});
    KILN_CHECK(schedule.ok());
    const std::vector<Ref> all = KernelsOf(*schedule);
    for (Ref kernel : all) KILN_CHECK(codegen::LowerKernel(g, kernel, target).ok());
    state.PauseTiming();
    kernels = static_cast<double>(all.size());
    graph = {};
    state.ResumeTiming();
  }
  state.counters["kernels"] = kernels;
  if (const double reference = ReferenceMs(model.id); reference > 0) {
    state.counters["times_reference"] =
        benchmark::Counter(reference * 1e-3, benchmark::Counter::kIsIterationInvariantRate);
  }
}

// LLVM's work on each kernel, from the IR to the object, in the time of its one thread. The time of
// an iteration is that of all kernels together, with the IR.
void BM_MachineCode(benchmark::State& state, const Model& model) {
  Machine machine;
  const codegen::Target& target = (*machine.registry.Get(kDevice))->target();
  ImportedGraph graph = model.Graph();
  Graph& g = *graph.graph.graph;
  const auto schedule = schedule::MakeSchedule(g, graph.graph.sink, {.default_device = kDevice});
  KILN_CHECK(schedule.ok());
  std::vector<codegen::Program> programs;
  for (Ref kernel : KernelsOf(*schedule)) {
    programs.push_back(*codegen::LowerKernel(g, kernel, target));
  }
  std::vector<double> ms;
  for (auto _ : state) {
    for (const codegen::Program& program : programs) {
      const auto costs = backend_llvm::MeasureCompile(program, backend_llvm::ThisCpu());
      KILN_CHECK(costs.ok());
      ms.push_back(costs->llvm_ms);
    }
  }
  double total = 0;
  for (double one : ms) total += one;
  std::sort(ms.begin(), ms.end());
  state.counters["kernels"] = static_cast<double>(programs.size());
  state.counters["median_ms"] = ms[ms.size() / 2];
  state.counters["p90_ms"] = ms[ms.size() * 9 / 10];
  state.counters["max_ms"] = ms.back();
  state.counters["total_ms"] =
      total * static_cast<double>(programs.size()) / static_cast<double>(ms.size());
}

// From the graph to the first result on a machine that has run nothing yet: schedule, lower, compile, run.
void MeasureFirstResults(benchmark::State& state, const Model& model,
                         const std::optional<std::string>& cache_folder) {
  for (auto _ : state) {
    state.PauseTiming();
    auto machine = std::make_unique<Machine>(cache_folder);
    const ImportedGraph graph = model.Graph();
    const auto inputs = machine->Upload(model, graph);
    const auto variables = machine->Variables(model);
    state.ResumeTiming();
    const auto runner = machine->engine->Prepare(graph.graph);
    KILN_CHECK(runner.ok());
    machine->Run(**runner, inputs, variables);
    state.PauseTiming();
    machine = nullptr;
    state.ResumeTiming();
  }
}

void BM_FirstResult(benchmark::State& state, const Model& model) {
  MeasureFirstResults(state, model, std::nullopt);
}

// With the kernels' objects on disk, as in a new process.
void BM_FirstResultFromDisk(benchmark::State& state, const Model& model) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("kiln_model_bench_" + std::to_string(getpid()));
  KILN_CHECK(Machine(folder).engine->Prepare(model.Graph().graph).ok());
  MeasureFirstResults(state, model, folder);
  std::filesystem::remove_all(folder);
}

// A captured graph once more.
void BM_Replay(benchmark::State& state, const Model& model) {
  Machine machine;
  const ImportedGraph graph = model.Graph();
  const auto inputs = machine.Upload(model, graph);
  const auto variables = machine.Variables(model);
  const auto runner = machine.engine->Capture(graph.graph);
  KILN_CHECK(runner.ok());
  for (auto _ : state) machine.Run(**runner, inputs, variables);
}

void RegisterAll() {
  using Body = void (*)(benchmark::State&, const Model&);
  const std::vector<std::pair<std::string, Body>> bodies = {
      {"Schedule", BM_Schedule},
      {"ScheduleAndLower", BM_ScheduleAndLower},
      {"MachineCode", BM_MachineCode},
      {"FirstResult", BM_FirstResult},
      {"FirstResultFromDisk", BM_FirstResultFromDisk},
      {"Replay", BM_Replay}};
  for (const auto& [name, body] : bodies) {
    for (const Model& model : Models()) {
      const std::string title = "BM_" + name + "/" + model.Name();
      benchmark::RegisterBenchmark(
          title.c_str(), [body = body, &model](benchmark::State& state) { body(state, model); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace kiln::replay

int main(int argc, char** argv) {
  kiln::replay::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
