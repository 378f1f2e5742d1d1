#include "tests/bench/workloads.h"

#include <cstring>
#include <utility>

#include "backends/cpu/cpu.h"
#include "core/dtype/check.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/training_step.h"
#include "tests/replay/graphs_data.h"
#include "tests/replay/graphs_import.h"

namespace kiln::bench {
namespace {

using Contents = std::vector<std::vector<std::byte>>;

using replay::ImportedGraph;
using replay::Model;

std::optional<double> ReferenceMs(const std::string& model) {
  if (model.find("resnet18") != std::string::npos) return 1940;
  if (model.find("gpt_4") != std::string::npos) return 545;
  return std::nullopt;
}

Contents ModelContents(const Model& model) {
  const auto data = replay::GraphData::Open(replay::kModels);
  KILN_CHECK(data.ok());
  const ImportedGraph graph = model.Graph();
  Contents contents;
  for (const tensor::TensorInput& input : graph.graph.inputs) {
    const replay::ImportedInput& from = graph.inputs[static_cast<size_t>(input.slot)];
    auto bytes =
        data->Input(model.json["inputs"][std::to_string(from.node)], from.dtype, from.elems);
    KILN_CHECK(bytes.ok());
    contents.push_back(*std::move(bytes));
  }
  return contents;
}

Workload OfModel(const Model& model) {
  Workload w{.name = model.Name(),
             .reference_ms = ReferenceMs(model.id),
             .graph = [&model] { return std::move(model.Graph().graph); },
             .contents = [&model](const auto&) { return ModelContents(model); },
             .variables = {}};
  if (model.json.contains("var_vals")) {
    for (const auto& [name, value] : model.json["var_vals"].items()) w.variables[name] = value;
  }
  return w;
}

// Labels 0 .. 9; all floats, the means of squares among them, in [0, 1/16).
Contents TrainingContents(const tensor::TensorGraph& graph) {
  Contents contents;
  for (const tensor::TensorInput& input : graph.inputs) {
    int64_t elems = 1;
    for (Ref dim : input.dims) elems *= dim->IntValue();
    std::vector<std::byte>& bytes = contents.emplace_back(static_cast<size_t>(elems) * 4);
    for (int64_t i = 0; i < elems; ++i) {
      const auto label = static_cast<int32_t>(i % 10);
      const uint64_t random = replay::SplitMix64(static_cast<uint64_t>(input.slot), i);
      const float number = static_cast<float>(random >> 40) * 0x1p-28f;
      std::memcpy(&bytes[static_cast<size_t>(i) * 4],
                  input.dtype == DType::kInt32 ? static_cast<const void*>(&label) : &number, 4);
    }
  }
  return contents;
}

}  // namespace

const std::vector<Workload>& Workloads() {
  static const auto* workloads = [] {
    auto* all = new std::vector<Workload>;
    for (const Model& model : replay::Models()) all->push_back(OfModel(model));
    all->push_back({.name = "mnist_training_step_b32",
                    .reference_ms = 2000,
                    .graph = [] { return MnistTrainingStep(32); },
                    .contents = TrainingContents,
                    .variables = {}});
    return all;
  }();
  return *workloads;
}

Machine::Machine(std::optional<std::string> cache_folder) {
  KILN_CHECK(cpu::RegisterCpuBackend(registry_, {}).ok());
  registry_.Alias("host", kDevice);
  auto made = runtime::Engine::Create(
      registry_, {.default_device = kDevice, .cache_folder = std::move(cache_folder)});
  KILN_CHECK(made.ok());
  engine_ = *std::move(made);
}

runtime::Device& Machine::device() { return **registry_.Get(kDevice); }

std::vector<runtime::Binding> Machine::Upload(const tensor::TensorGraph& graph,
                                              const Contents& contents) {
  std::vector<runtime::Binding> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    auto buffer = engine_->Upload(kDevice, contents[i]);
    KILN_CHECK(buffer.ok());
    inputs.push_back({.slot = graph.inputs[i].slot, .buffer = *std::move(buffer)});
  }
  return inputs;
}

void Machine::Run(runtime::GraphRunner& runner, const std::vector<runtime::Binding>& inputs,
                  const runtime::VarVals& variables) {
  const auto result = runner.Run({.inputs = inputs, .variables = variables});
  KILN_CHECK(result.ok() && result->Await().ok());
}

}  // namespace kiln::bench
