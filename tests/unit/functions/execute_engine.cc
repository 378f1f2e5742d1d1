#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/cpu.h"
#include "core/dtype/status.h"
#include "core/runtime/engine.h"
#include "tests/unit/functions/execute.h"

namespace kiln::tensor::functions {
namespace {

struct Setup {
  runtime::Registry registry;
  absl::StatusOr<std::unique_ptr<runtime::Engine>> engine = absl::InternalError("not made yet");
};

// Lives as long as the process, so that kernels are compiled once.
absl::StatusOr<runtime::Engine*> TheEngine() {
  static Setup* const setup = [] {
    auto* made = new Setup;
    const absl::Status registered = cpu::RegisterCpuBackend(made->registry, {});
    if (registered.ok()) made->engine = runtime::Engine::Create(made->registry, {});
    return made;
  }();
  KILN_RETURN_IF_ERROR(setup->engine.status());
  return setup->engine->get();
}

}  // namespace

absl::StatusOr<support::TensorResults> Execute(const TensorGraph& graph,
                                               const support::TensorRun& run) {
  KILN_ASSIGN_OR_RETURN(runtime::Engine* const engine, TheEngine());
  std::vector<runtime::Binding> bindings;
  for (const auto& [slot, bytes] : run.inputs) {
    KILN_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Buffer> buffer, engine->Upload("cpu:0", bytes));
    bindings.push_back({slot, std::move(buffer)});
  }
  const runtime::VarVals variables(run.var_vals.begin(), run.var_vals.end());
  KILN_ASSIGN_OR_RETURN(const runtime::RunResult result,
                        engine->Run(graph, {.inputs = bindings, .variables = variables}));
  support::TensorResults results;
  for (const runtime::Tensor& out : result.outputs) {
    support::TensorArray array = {out.dtype, out.dims, {}};
    array.bytes.resize(static_cast<size_t>(out.bytes()));
    KILN_RETURN_IF_ERROR(engine->Read(out, absl::MakeSpan(array.bytes)));
    results.outputs.push_back(std::move(array));
  }
  return results;
}

}  // namespace kiln::tensor::functions
