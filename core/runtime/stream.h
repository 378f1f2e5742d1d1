// One client's order of work.
//
//   const std::shared_ptr<Stream> stream = engine->NewStream({});
//   runner->Run({.inputs = inputs, .variables = values, .stream = stream.get()});
//   stream->Cancel(absl::CancelledError("the session has ended"));
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "core/runtime/device.h"
#include "core/runtime/recording_cache.h"

namespace kiln::runtime {

struct StreamOptions {
  // For KernelEvent. 0: a number that no other stream without one has.
  uint64_t id = 0;
  // Graphs whose command lists are kept ready, the least recently run goes.
  int max_recorded_graphs = 256;
};

// On each device, work of a stream begins in the order in which it was submitted; streams take
// turns on a device, one kernel at a time (see Queue), and nothing that one waits for holds another
// up. What orders work of several streams is the buffers they share. A stream has memory of its own
// for temporaries. Thread-safe. Must be destroyed before the registry; what it has to do then is
// still done.
class Stream {
 public:
  // `id`: for KernelEvent. Made by Engine::NewStream.
  Stream(uint64_t id, std::shared_ptr<const KernelProbe> probe, StreamOptions options)
      : id_(id), probe_(std::move(probe)), recordings_(options.max_recorded_graphs) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  uint64_t id() const { return id_; }

  // Ends all that was submitted, on all devices: what has not begun at once, what runs at its next
  // kernel. `status` (an error) is how it went, and poisons what it should have written. Work
  // submitted later runs as usual. Callbacks (Timeline::Notify) of points that pass run on this
  // thread.
  void Cancel(const absl::Status& status);

  // Submissions (jobs) and commands that are not over, and device time so far: on all devices; on
  // one.
  QueueLoad load() const;
  QueueLoad load(const Device& device) const;
  int64_t device_time_ns() const { return load().device_ns; }
  bool idle() const { return load().jobs == 0; }
  // Blocks until what was submitted before is over. DeadlineExceeded if it is not by then.
  absl::Status AwaitIdle(absl::Time deadline = absl::InfiniteFuture()) const;

  // Memory for temporaries that is kept for the next run. Dropping it costs a run some
  // microseconds; what runs keeps it until then.
  int64_t arena_bytes() const;
  void DropArenas();

  // ** for what submits work: GraphRunner, Transfers **
  // Held while work is submitted: the order in which it is taken is the order of work.
  absl::Mutex& mu() const ABSL_LOCK_RETURNED(mu_) { return mu_; }
  Queue& QueueOn(Device& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return *On(device).queue; }
  // Command lists for one run of a plan, with arenas; free until it is submitted. `graph` tells
  // apart callers with lists of their own. Errors of Memory::Allocate.
  absl::StatusOr<Recording*> RecordingOf(uint64_t graph, const Plan& plan, const PlanMeters& meters)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

 private:
  struct OnDevice {
    Device* device;
    std::shared_ptr<Queue> queue;
    std::shared_ptr<Buffer> arena;  // May be null. Replaced when a run needs more.
  };
  OnDevice& On(Device& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const uint64_t id_;
  const std::shared_ptr<const KernelProbe> probe_;
  mutable absl::Mutex mu_;
  std::vector<OnDevice> devices_ ABSL_GUARDED_BY(mu_);  // Those that it has used.
  RecordingCache recordings_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::runtime
