#include "tests/replay/engine_executor.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "backends/cpu/cpu.h"
#include "backends/interp/interp.h"
#include "core/dtype/status.h"
#include "core/runtime/engine.h"

namespace kiln::replay {
namespace {

using runtime::Binding;
using runtime::Buffer;
using runtime::Engine;
using runtime::GraphRunner;
using runtime::Registry;
using runtime::RunResult;
using runtime::VarVals;
using support::TensorResults;
using support::TensorRun;
using tensor::TensorGraph;
using tensor::TensorInput;

// Devices of the graphs with several: "CPU:0" ... and, for "HOST", the last.
constexpr int kNumDevices = 9;

using Contents = std::map<int64_t, std::vector<std::byte>>;  // By slot.

// The elements in the opposite order: other contents with which indices are still in bounds.
Contents Reversed(const TensorGraph& graph, const Contents& inputs) {
  Contents reversed;
  for (const TensorInput& input : graph.inputs) {
    const auto found = inputs.find(input.slot);
    if (found == inputs.end()) continue;
    const std::vector<std::byte>& bytes = found->second;
    const auto elem = static_cast<size_t>(dtype::SizeBytes(input.dtype));
    std::vector<std::byte>& to = reversed[input.slot];
    to.resize(bytes.size());
    for (size_t i = 0; i + elem <= bytes.size(); i += elem) {
      std::copy_n(&bytes[bytes.size() - elem - i], elem, &to[i]);
    }
  }
  return reversed;
}

// An engine with devices of its own.
class EngineSetup {
 public:
  static absl::StatusOr<std::unique_ptr<EngineSetup>> Create(const EngineExecutorOptions& options,
                                                             int num_devices) {
    auto setup = std::make_unique<EngineSetup>();
    Registry& registry = setup->registry_;
    KILN_RETURN_IF_ERROR(cpu::RegisterCpuBackend(registry, {.num_devices = num_devices}));
    KILN_RETURN_IF_ERROR(interp::RegisterInterpBackend(registry));
    if (options.kind == "cpu") {
      registry.Alias("host", absl::StrCat("cpu:", num_devices - 1));
    } else {  // There is one: copies are within it.
      registry.Alias("host", options.kind);
      for (int i = 0; i < num_devices; ++i) registry.Alias(absl::StrCat("cpu:", i), options.kind);
    }
    runtime::EngineOptions o = {.default_device = absl::StrCat(options.kind, ":0")};
    if (!options.validate_on.empty()) o.validate_on = options.validate_on;
    if (!options.cache_folder.empty()) o.cache_folder = options.cache_folder;
    KILN_ASSIGN_OR_RETURN(setup->engine_, Engine::Create(registry, std::move(o)));
    setup->default_device_ = absl::StrCat(options.kind, ":0");
    return setup;
  }

  Engine& engine() { return *engine_; }

  // New buffers with these contents.
  absl::StatusOr<std::vector<Binding>> Upload(const TensorGraph& graph, const Contents& inputs) {
    std::vector<Binding> bindings;
    for (const TensorInput& input : graph.inputs) {
      const auto found = inputs.find(input.slot);
      if (found == inputs.end()) {
        return absl::InvalidArgumentError(absl::StrCat("no contents for slot ", input.slot));
      }
      const std::string& device = input.device.empty() ? default_device_ : input.device;
      KILN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, engine_->Upload(device, found->second));
      bindings.push_back({.slot = input.slot, .buffer = std::move(buffer)});
    }
    return bindings;
  }

  // Waits for the run and reads what it has made.
  absl::StatusOr<TensorResults> Read(const TensorGraph& graph, absl::Span<const Binding> inputs,
                                     const RunResult& result) {
    KILN_RETURN_IF_ERROR(result.Await());
    TensorResults results;
    for (const runtime::Tensor& output : result.outputs) {
      support::TensorArray array = {.dtype = output.dtype, .shape = output.dims};
      array.bytes.resize(static_cast<size_t>(output.bytes()));
      KILN_RETURN_IF_ERROR(engine_->Read(output, absl::MakeSpan(array.bytes)));
      results.outputs.push_back(std::move(array));
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (!graph.inputs[i].is_assigned) continue;
      std::vector<std::byte>& bytes = results.assigned[graph.inputs[i].slot];
      bytes.resize(static_cast<size_t>(inputs[i].buffer->bytes()));
      KILN_RETURN_IF_ERROR(engine_->Read(*inputs[i].buffer, 0, absl::MakeSpan(bytes)));
    }
    return results;
  }

 private:
  Registry registry_;  // First: buffers of the engine die before its devices.
  std::unique_ptr<Engine> engine_;
  std::string default_device_;
};

absl::Status ExpectSame(const TensorResults& a, const TensorResults& b, const char* what) {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].bytes != b.outputs[i].bytes || a.outputs[i].shape != b.outputs[i].shape) {
      return absl::InternalError(absl::StrCat(what, ": output ", i, " differs"));
    }
  }
  for (const auto& [slot, bytes] : a.assigned) {
    if (bytes != b.assigned.at(slot)) {
      return absl::InternalError(absl::StrCat(what, ": slot ", slot, " differs"));
    }
  }
  return absl::OkStatus();
}

class EngineExecutor final : public GraphExecutor {
 public:
  explicit EngineExecutor(const EngineExecutorOptions& options) : options_(options) {}

  int64_t max_macs() const override {
    return options_.kind == "interp" ? 2'000'000 : std::numeric_limits<int64_t>::max();
  }

  absl::StatusOr<TensorResults> Run(const TensorGraph& graph, const TensorRun& run) override {
    KILN_ASSIGN_OR_RETURN(EngineSetup * setup, SetupFor(graph));
    const VarVals variables(run.var_vals.begin(), run.var_vals.end());
    KILN_ASSIGN_OR_RETURN(const TensorResults first, RunOnce(*setup, graph, run.inputs, variables));
    if (!options_.validate_on.empty()) return first;
    const Engine::Counters before = setup->engine().counters();
    KILN_ASSIGN_OR_RETURN(const TensorResults second,
                          RunOnce(*setup, graph, run.inputs, variables));
    const Engine::Counters after = setup->engine().counters();
    if (after.plans_built != before.plans_built || after.kernels.loaded != before.kernels.loaded) {
      return absl::InternalError("the second run has scheduled or compiled something");
    }
    KILN_RETURN_IF_ERROR(ExpectSame(first, second, "second run"));
    KILN_RETURN_IF_ERROR(Replay(*setup, graph, run.inputs, variables, first));
    return first;
  }

 private:
  // Graphs on one device have all cores.
  absl::StatusOr<EngineSetup*> SetupFor(const TensorGraph& graph) {
    std::unique_ptr<EngineSetup>& setup = graph.devices.empty() ? one_ : several_;
    if (setup == nullptr) {
      KILN_ASSIGN_OR_RETURN(setup,
                            EngineSetup::Create(options_, graph.devices.empty() ? 1 : kNumDevices));
    }
    return setup.get();
  }

  absl::StatusOr<TensorResults> RunOnce(EngineSetup& setup, const TensorGraph& graph,
                                        const Contents& contents, const VarVals& variables) {
    KILN_ASSIGN_OR_RETURN(const std::vector<Binding> inputs, setup.Upload(graph, contents));
    KILN_ASSIGN_OR_RETURN(const RunResult result,
                          setup.engine().Run(graph, {.inputs = inputs, .variables = variables}));
    return setup.Read(graph, inputs, result);
  }

  // One captured graph on two sets of buffers, the second submitted while the first may still run.
  absl::Status Replay(EngineSetup& setup, const TensorGraph& graph, const Contents& contents,
                      const VarVals& variables, const TensorResults& first) {
    const Contents other = Reversed(graph, contents);
    KILN_ASSIGN_OR_RETURN(const TensorResults fresh, RunFresh(setup, graph, other, variables));
    KILN_ASSIGN_OR_RETURN(const std::shared_ptr<GraphRunner> captured,
                          setup.engine().Capture(graph));
    KILN_ASSIGN_OR_RETURN(const std::vector<Binding> a, setup.Upload(graph, contents));
    KILN_ASSIGN_OR_RETURN(const std::vector<Binding> b, setup.Upload(graph, other));
    KILN_ASSIGN_OR_RETURN(const RunResult run_a,
                          captured->Run({.inputs = a, .variables = variables}));
    KILN_RETURN_IF_ERROR(run_a.Await());
    KILN_ASSIGN_OR_RETURN(const RunResult run_b,
                          captured->Run({.inputs = b, .variables = variables}));
    KILN_ASSIGN_OR_RETURN(const std::vector<Binding> c, setup.Upload(graph, contents));
    KILN_ASSIGN_OR_RETURN(const RunResult run_c,
                          captured->Run({.inputs = c, .variables = variables}));
    KILN_ASSIGN_OR_RETURN(const TensorResults result_c, setup.Read(graph, c, run_c));
    KILN_ASSIGN_OR_RETURN(const TensorResults result_b, setup.Read(graph, b, run_b));
    KILN_ASSIGN_OR_RETURN(const TensorResults result_a, setup.Read(graph, a, run_a));
    KILN_RETURN_IF_ERROR(ExpectSame(first, result_a, "captured"));
    KILN_RETURN_IF_ERROR(ExpectSame(fresh, result_b, "captured, other inputs"));
    return ExpectSame(first, result_c, "captured, first inputs again");
  }

  absl::StatusOr<TensorResults> RunFresh(EngineSetup& setup, const TensorGraph& graph,
                                         const Contents& contents, const VarVals& variables) {
    KILN_ASSIGN_OR_RETURN(const std::vector<Binding> inputs, setup.Upload(graph, contents));
    KILN_ASSIGN_OR_RETURN(const std::shared_ptr<GraphRunner> runner, setup.engine().Capture(graph));
    KILN_ASSIGN_OR_RETURN(const RunResult result,
                          runner->Run({.inputs = inputs, .variables = variables}));
    return setup.Read(graph, inputs, result);
  }

  const EngineExecutorOptions options_;
  std::unique_ptr<EngineSetup> one_, several_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GraphExecutor>> MakeEngineExecutor(
    const EngineExecutorOptions& options) {
  return std::make_unique<EngineExecutor>(options);
}

}  // namespace kiln::replay
