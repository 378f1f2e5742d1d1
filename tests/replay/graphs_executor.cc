#include "tests/replay/graphs_executor.h"

#include "absl/strings/str_cat.h"

#include "tests/replay/engine_executor.h"
#include "tests/support/tensor_evaluator.h"

namespace kiln::replay {
namespace {

class ReferenceExecutor final : public GraphExecutor {
 public:
  absl::StatusOr<support::TensorResults> Run(const tensor::TensorGraph& graph,
                                             const support::TensorRun& run) override {
    return support::EvaluateTensors(graph, run);
  }
};

}  // namespace

std::unique_ptr<GraphExecutor> MakeReferenceExecutor() {
  return std::make_unique<ReferenceExecutor>();
}

absl::StatusOr<std::unique_ptr<GraphExecutor>> MakeExecutor(std::string_view name,
                                                            const std::string& cache_folder) {
  if (name == "reference") return MakeReferenceExecutor();
  if (name == "cpu" || name == "interp")
    return MakeEngineExecutor({.kind = std::string(name), .cache_folder = cache_folder});
  if (name == "validate") return MakeEngineExecutor({.kind = "cpu", .validate_on = "interp"});
  return absl::NotFoundError(absl::StrCat("nothing called \"", std::string(name),
                                          "\" to run graphs on; there are: reference, cpu, interp, "
                                          "validate"));
}

}  // namespace kiln::replay
