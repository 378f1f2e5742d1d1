#include "core/dtype/status.h"
#include "core/schedule/schedule.h"
#include "tests/support/tensor_evaluator.h"
#include "tests/unit/functions/execute.h"

namespace kiln::tensor::functions {

absl::StatusOr<support::TensorResults> Execute(const TensorGraph& graph,
                                               const support::TensorRun& run) {
  KILN_ASSIGN_OR_RETURN(support::TensorResults results, EvaluateTensors(graph, run));
  KILN_RETURN_IF_ERROR(schedule::MakeSchedule(*graph.graph, graph.sink).status());
  return results;
}

}  // namespace kiln::tensor::functions
