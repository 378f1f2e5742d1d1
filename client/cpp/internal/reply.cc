#include "client/cpp/internal/reply.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kiln::client {
namespace {

using Clock = std::chrono::steady_clock;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Waking a sleeping thread takes 15 to 25 us, as long as a small command itself. So a thread whose
// waits are short looks for a while before it sleeps; one whose waits are long does so only now and
// then, to see whether that has changed.
class SpinPolicy {
 public:
  static constexpr auto kLongest = std::chrono::microseconds(100);

  bool ShouldSpin() { return average_ < kLongest || ++skipped_ % 32 == 0; }
  void Waited(Clock::duration wait) {
    const auto bounded = std::min<Clock::duration>(wait, 10 * kLongest);
    average_ += (bounded - average_) / 8;
  }

 private:
  Clock::duration average_ = Clock::duration::zero();
  uint32_t skipped_ = 0;
};

}  // namespace

void Reply::FinishCommand(absl::Status status, v1::Result* result) {
  // Kept: where it sends another command, that one's answer may come before it returns.
  if (const std::shared_ptr<Sink> sink = sink_; sink != nullptr) {
    static thread_local v1::Result nothing;
    if (!(*sink)(status, result != nullptr ? *result : nothing)) return;
    sink_ = nullptr;
  }
  status_ = std::move(status);
  if (result != nullptr) result_.Swap(result);
  FinishPart();
}

void Reply::FinishStream(const absl::Status& status) {
  stream_status_ = status;
  FinishPart();
}

void Reply::FinishPart() {
  if (parts_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (status_.ok()) status_ = stream_status_;
  state_.store(kDone, std::memory_order_release);
  state_.notify_all();
}

void Reply::Wait() {
  if (is_done()) return;
  ReleaseHeldCommands();
  thread_local SpinPolicy policy;
  const Clock::time_point start = Clock::now();
  if (policy.ShouldSpin()) {
    // Whoever else wants this core gets it: on a small machine that is who makes the answer.
    for (int i = 0; !is_done() && Clock::now() - start < SpinPolicy::kLongest; ++i) {
      for (int k = 0; k < 16 && !is_done(); ++k) Pause();
      if (i % 8 == 7) sched_yield();
    }
  }
  while (!is_done()) state_.wait(kPending, std::memory_order_acquire);
  policy.Waited(Clock::now() - start);
}

}  // namespace kiln::client
