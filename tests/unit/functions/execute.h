// How the functions of a test binary are run. Each binary links one of the definitions.
#pragma once

#include "absl/status/statusor.h"

#include "core/tensor/tensor_graph.h"
#include "tests/support/tensor_run.h"

namespace kiln::tensor::functions {

// execute_reference.cc: by the evaluator of tests/support; scheduled, to see that it can be.
// execute_engine.cc: scheduled, compiled and run by the engine on the CPU.
absl::StatusOr<support::TensorResults> Execute(const TensorGraph& graph,
                                               const support::TensorRun& run);

}  // namespace kiln::tensor::functions
