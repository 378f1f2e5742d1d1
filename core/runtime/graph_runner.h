// A captured graph: command lists with placeholders for buffers and variables. A run patches what
// has changed since the last one, and submits.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/runtime/arenas.h"
#include "core/runtime/plan.h"
#include "core/runtime/recording.h"
#include "core/runtime/tensor.h"

namespace kiln::runtime {

struct RunArgs {
  absl::Span<const Binding> inputs;        // By slot, in any order; quickest if sorted.
  const VarVals& variables;                // Names that the graph does not have are ignored.
  absl::Span<const Binding> outputs = {};  // Those not given memory get new buffers.
};

struct RunResult {
  std::vector<Tensor> outputs;
  // What has to pass until the run is over, and how it went then. Buffers know it as well: it is
  // enough to read an output.
  std::vector<Dependency> done;
  // The most bytes of temporaries and outputs that the run has at one time, inputs not counted.
  int64_t peak_bytes = 0;

  // Blocks until the run is over.
  absl::Status Await() const;
};

// Thread-safe. Runs may overlap.
class GraphRunner {
 public:
  GraphRunner(std::shared_ptr<const Plan> plan, std::shared_ptr<SubmitState> state)
      : plan_(std::move(plan)), state_(std::move(state)) {}

  // Queues one run and returns. Costs some microseconds, plus what was changed since the last run.
  // InvalidArgument, and nothing is queued: a variable without a value or outside of its bounds, a
  // condition that does not hold, an input that is missing, too small, on the wrong device or not
  // aligned, memory that is written and also bound to something else. ResourceExhausted: no memory.
  // Later failures (named kernels, inputs that a failed run should have written) are in
  // RunResult::done and poison what the run writes.
  absl::StatusOr<RunResult> Run(const RunArgs& args);

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }

 private:
  absl::StatusOr<Recording*> FreeRecording() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu());
  void Submit(Recording& recording, const Bound& bound, RunResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu());

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<SubmitState> state_;
  std::vector<std::unique_ptr<Recording>> recordings_ ABSL_GUARDED_BY(state_->mu());
};

}  // namespace kiln::runtime
