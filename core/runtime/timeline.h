// Order between queues: counters that only rise, and points on them.
//
//   Point done = queue.Submit(wait, commands, outcome);
//   KILN_RETURN_IF_ERROR(Await({done, outcome}));  // All of `commands` has run, and went well.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kiln::runtime {

// A counter that work raises. Starts at 0. Thread-safe. Implemented by devices; HostTimeline is the
// one of those whose queues are threads.
class Timeline {
 public:
  virtual ~Timeline() = default;
  // The value so far: what every point up to it has waited for has happened, and is visible to the
  // caller. Never blocks.
  virtual uint64_t value() const = 0;
  // Raises the counter to `value`, from the host; nothing if it is there already. Never blocks.
  virtual void Signal(uint64_t value) = 0;
  // Blocks until the counter is at least `value`. DeadlineExceeded if it is not by then.
  virtual absl::Status Wait(uint64_t value, absl::Time deadline = absl::InfiniteFuture()) = 0;

  using Callback = absl::AnyInvocable<void() &&>;
  // Calls `callback` once, when the counter has reached `value`: now, on this thread, if it has;
  // else on the thread that raises it, which may be the one that runs a device's kernels: so it
  // has to be quick and must not block. It may submit work. It can't be taken back, so it should
  // hold what may die before by weak_ptr; if the timeline dies first, it is dropped.
  void Notify(uint64_t value, Callback callback) {
    if (!NotifyLater(value, callback)) std::move(callback)();
  }
  // The same, but false if the counter is there already: then `callback` is left as it is, and not
  // called. So it never calls, and may be used with locks held that callbacks take.
  virtual bool NotifyLater(uint64_t value, Callback& callback) = 0;
};

// A place on a timeline. Passed once the counter has reached `value`. The timeline is borrowed: it
// lives as long as its device.
struct Point {
  Timeline* timeline = nullptr;  // Null: passed from the start.
  uint64_t value = 0;

  bool passed() const { return timeline == nullptr || timeline->value() >= value; }
  friend bool operator==(const Point&, const Point&) = default;
};

// How a submission went. Written once, by its queue, before its point passes; read only after that.
struct Outcome {
  absl::Status status;
  int64_t device_ns = 0;  // How long its commands have kept the device.
};

// What has to pass before something may begin.
struct Dependency {
  Point point;
  // Null if only the order matters. Else a failure there is a failure here: a write that failed
  // poisons what reads it.
  std::shared_ptr<const Outcome> outcome;
};

// Blocks until the point has passed. The status of its outcome, or DeadlineExceeded.
inline absl::Status Await(const Dependency& d, absl::Time deadline = absl::InfiniteFuture()) {
  if (!d.point.passed()) {
    absl::Status waited = d.point.timeline->Wait(d.point.value, deadline);
    if (!waited.ok()) return waited;
  }
  return d.outcome == nullptr ? absl::OkStatus() : d.outcome->status;
}

// Calls `callback` once all have passed, with the first error of their outcomes in the order given:
// now, or as Timeline::Notify does.
void WhenPassed(absl::Span<const Dependency> all,
                absl::AnyInvocable<void(absl::Status) &&> callback);

}  // namespace kiln::runtime
