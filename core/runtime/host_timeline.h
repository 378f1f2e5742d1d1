// Timelines for devices whose queues are threads of this process, and for work of the host.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/timeline.h"

namespace kiln::runtime {

// Thread-safe. A signal that nobody waits for costs nanoseconds. Waiting spins for some
// microseconds before it blocks: a wake-up costs 15 to 50.
class HostTimeline final : public Timeline {
 public:
  uint64_t value() const override { return value_.load(std::memory_order_acquire); }
  void Signal(uint64_t value) override;
  absl::Status Wait(uint64_t value, absl::Time deadline = absl::InfiniteFuture()) override;
  bool NotifyLater(uint64_t value, Callback& callback) override;

 private:
  std::atomic<uint64_t> value_ = 0;
  // Threads that block, or are about to, and callbacks.
  std::atomic<int> num_waiting_ = 0;
  absl::Mutex mu_;  // Threads block on it, until value_ is what they wait for.
  std::multimap<uint64_t, Callback> callbacks_ ABSL_GUARDED_BY(mu_);
};

// Points that threads of the host give: of reads and writes that no queue does. Thread-safe. The
// timelines live as long as the pool, and are used again: there are as many as points at one time.
class HostPoints {
 public:
  // A point that has not passed.
  Point Take();
  // Lets a point pass that Take() gave, once. Callbacks run on this thread.
  void Pass(Point point);

 private:
  absl::Mutex mu_;
  std::vector<std::unique_ptr<HostTimeline>> timelines_ ABSL_GUARDED_BY(mu_);
  std::vector<HostTimeline*> free_ ABSL_GUARDED_BY(mu_);
};

// Tells the CPU that this is a loop that waits.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace kiln::runtime
