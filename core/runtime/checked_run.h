// Runs of which every kernel is done a second time by a device that is trusted, and compared.
#pragma once

#include "absl/status/statusor.h"

#include "core/runtime/graph_runner.h"
#include "core/runtime/plan.h"

namespace kiln::runtime {

// Like GraphRunner::Run, but one kernel at a time, waiting for each. Pre: the launches of the plan
// have a reference; all memory is host-visible. Internal names the kernel, the element and both
// values where they differ: integers and bools at all, floats by more than reassociation of what
// was summed up explains (see Tolerance in the .cc).
absl::StatusOr<RunResult> CheckedRun(const Plan& plan, const RunArgs& args);

}  // namespace kiln::runtime
