// The value of a tensor graph, node by node on whole arrays: slow, small, and independent of
// everything that schedules or compiles.
#pragma once

#include "absl/status/statusor.h"

#include "core/tensor/tensor_graph.h"
#include "tests/support/tensor_run.h"

namespace kiln::support {

// Each node is computed on its own and rounded to its dtype (core/dtype/alu.h); sums and products of
// floats over an axis are accumulated in float64 and rounded once. An INPUT has the contents from
// before the run wherever it is read; ASSIGNs are carried out in the order of node ids.
//
// InvalidArgument: an input or variable that is missing or does not fit, a condition of the graph
// that does not hold. ResourceExhausted: an array of more than `max_elems` elements.
absl::StatusOr<TensorResults> EvaluateTensors(const tensor::TensorGraph& graph,
                                              const TensorRun& run,
                                              int64_t max_elems = int64_t{1} << 26);

}  // namespace kiln::support
