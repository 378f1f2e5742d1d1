#include "core/runtime/host_timeline.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kiln::runtime {
namespace {
constexpr int kSpins = 500;  // Some 10 us.
}  // namespace

void HostTimeline::Signal(uint64_t value) {
  uint64_t now = value_.load();
  while (now < value && !value_.compare_exchange_weak(now, value)) {
  }
  // Either a thread that is about to block sees the new value, or it is counted here.
  if (num_waiting_.load() == 0) return;
  std::vector<Callback> due;
  {
    absl::MutexLock lock(&mu_);  // Unlocking makes it look at the conditions of threads again.
    const auto end = callbacks_.upper_bound(value_.load());
    for (auto it = callbacks_.begin(); it != end; ++it) due.push_back(std::move(it->second));
    callbacks_.erase(callbacks_.begin(), end);
    num_waiting_ -= static_cast<int>(due.size());
  }
  for (Callback& callback : due) std::move(callback)();
}

bool HostTimeline::NotifyLater(uint64_t value, Callback& callback) {
  if (this->value() >= value) return false;
  absl::MutexLock lock(&mu_);
  ++num_waiting_;  // Before looking: see Signal.
  if (value_.load() >= value) {
    --num_waiting_;
    return false;
  }
  callbacks_.emplace(value, std::move(callback));
  return true;
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

Point HostPoints::Take() {
  absl::MutexLock lock(&mu_);
  if (free_.empty()) {
    timelines_.push_back(std::make_unique<HostTimeline>());
    free_.push_back(timelines_.back().get());
  }
  HostTimeline* timeline = free_.back();
  free_.pop_back();
  return {timeline, timeline->value() + 1};
}

void HostPoints::Pass(Point point) {
  auto* timeline = static_cast<HostTimeline*>(point.timeline);
  timeline->Signal(point.value);
  absl::MutexLock lock(&mu_);
  free_.push_back(timeline);
}

}  // namespace kiln::runtime
