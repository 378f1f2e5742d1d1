// Memory for the temporaries of runs: one piece for each device.
#pragma once

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/device.h"

namespace kiln::runtime {

// What the runs of an engine share. Runs follow each other on the queue of a device, so all of them
// can have the same memory. The lock is held from looking at the hazards of buffers until those of
// the new submission are recorded.
class SubmitState {
 public:
  absl::Mutex& mu() ABSL_LOCK_RETURNED(mu_) { return mu_; }
  // Memory of at least `bytes` (> 0) on the device. It is replaced when a run needs more; whoever
  // uses the old keeps it. Errors of Memory::Allocate.
  absl::StatusOr<std::shared_ptr<Buffer>> Arena(Device& device, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives up all arenas. Memory in use is freed when the runs are over.
  void DropArenas() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { arenas_.clear(); }

 private:
  absl::Mutex mu_;
  absl::flat_hash_map<Device*, std::shared_ptr<Buffer>> arenas_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::runtime
