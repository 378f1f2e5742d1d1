#include "core/runtime/host_timeline.h"

#include "absl/strings/str_cat.h"

namespace kiln::runtime {
namespace {
constexpr int kSpins = 500;  // Some 10 us.
}  // namespace

void HostTimeline::Signal(uint64_t value) {
  uint64_t now = value_.load();
  while (now < value && !value_.compare_exchange_weak(now, value)) {
  }
  // Either a thread that is about to block sees the new value, or it is counted here. Unlocking
  // makes the mutex look at the conditions again.
  if (num_waiting_.load() > 0) absl::MutexLock lock(&mu_);
}

absl::Status HostTimeline::Wait(uint64_t value, absl::Time deadline) {
  for (int i = 0; i < kSpins; ++i) {
    if (this->value() >= value) return absl::OkStatus();
    Pause();
  }
  ++num_waiting_;
  const auto reached = [this, value] { return value_.load() >= value; };
  bool ok;
  {
    absl::MutexLock lock(&mu_);
    ok = mu_.AwaitWithDeadline(absl::Condition(&reached), deadline);
  }
  --num_waiting_;
  if (ok) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("a timeline is at ", this->value(), ", not yet at ", value));
}

}  // namespace kiln::runtime
