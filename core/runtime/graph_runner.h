// A captured graph: command lists with placeholders for buffers and variables. A run patches what
// has changed since the last one, and submits.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/runtime/plan.h"
#include "core/runtime/recording.h"
#include "core/runtime/submit_state.h"
#include "core/runtime/tensor.h"

namespace kiln::runtime {

struct RunArgs {
  absl::Span<const Binding> inputs;        // By slot, in any order; quickest if sorted.
  const VarVals& variables;                // Names that the graph does not have are ignored.
  absl::Span<const Binding> outputs = {};  // Those not given memory get new buffers.
  // Whose work it is. Borrowed during the call. Null: the engine's own stream.
  Stream* stream = nullptr;
  // If the plan has one device, which has nothing else to do, and nothing has to be waited for, the
  // run is over when the call returns: this thread has done it, which saves the 15-25 us in which
  // the device's thread wakes up, and is worth it for runs that last less than some 50 us (see
  // GraphRunner::last_device_ns). Else it is queued as usual. Callbacks (Timeline::Notify) of its
  // points may run in the call.
  bool run_here_if_idle = false;
};

struct RunResult {
  std::vector<Tensor> outputs;
  // What has to pass until the run is over, and how it went then. Buffers know it as well: it is
  // enough to read an output.
  std::vector<Dependency> done;
  // The most bytes of temporaries and outputs that the run has at one time, inputs not counted.
  int64_t peak_bytes = 0;
  // How those of its submissions went that are over before `done`.
  std::vector<std::shared_ptr<const Outcome>> parts;

  // Blocks until the run is over.
  absl::Status Await() const;
  // How long its kernels and copies have kept devices. Pre: the run is over.
  int64_t device_ns() const;
};

// Thread-safe. Runs may overlap.
class GraphRunner {
 public:
  GraphRunner(std::shared_ptr<const Plan> plan, std::shared_ptr<SubmitState> state);

  // Queues one run and returns. Costs some microseconds, plus what was changed since the last run.
  // InvalidArgument, and nothing is queued: a variable without a value or outside of its bounds, a
  // condition that does not hold, an input that is missing, too small, on the wrong device or not
  // aligned, memory that is written and also bound to something else. ResourceExhausted: no memory.
  // Later failures (named kernels, inputs that a failed run should have written) are in
  // RunResult::done and poison what the run writes.
  absl::StatusOr<RunResult> Run(const RunArgs& args);

  // How long a run keeps its devices, as remembered (DeviceTimeMeter). None before the first one
  // is over, or if the graph has no kernels.
  std::optional<int64_t> last_device_ns() const;

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }

 private:
  void Submit(Stream& stream, Recording& recording, Bound bound, SubmitMode mode, RunResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mu(), stream.mu());

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<SubmitState> state_;
  const uint64_t id_;
  PlanMeters meters_;
};

}  // namespace kiln::runtime
