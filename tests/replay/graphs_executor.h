// What runs the tensor graphs of the fixtures.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/tensor/tensor_graph.h"
#include "tests/support/tensor_run.h"

namespace kiln::replay {

// Confined to the main thread. Devices of a graph are names as the fixtures write them ("CPU",
// "CPU:1", "HOST"); an executor maps them to what it has.
class GraphExecutor {
 public:
  virtual ~GraphExecutor() = default;

  // Records with more elements entering reductions are skipped unless --max_macs says otherwise.
  virtual int64_t max_macs() const { return 2'000'000; }

  virtual absl::StatusOr<support::TensorResults> Run(const tensor::TensorGraph& graph,
                                                     const support::TensorRun& run) = 0;
};

// Node by node (tests/support/tensor_evaluator.h).
std::unique_ptr<GraphExecutor> MakeReferenceExecutor();

// As in --on. Compiled kernels are kept in `cache_folder`, unless it is empty. NotFound lists those
// that there are.
absl::StatusOr<std::unique_ptr<GraphExecutor>> MakeExecutor(std::string_view name,
                                                            const std::string& cache_folder = "");

}  // namespace kiln::replay
