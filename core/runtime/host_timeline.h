// A timeline for devices whose queues are threads of this process.
#pragma once

#include <atomic>

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

 private:
  std::atomic<uint64_t> value_ = 0;
  std::atomic<int> num_waiting_ = 0;  // Threads that block, or are about to.
  absl::Mutex mu_;                    // They block on it, until value_ is what they wait for.
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
