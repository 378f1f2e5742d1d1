#include "backends/cpu/worker_pool.h"

#include <chrono>
#include <utility>

#include "core/runtime/host_timeline.h"

namespace kiln::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// How long a helper looks for work before it blocks: a wake-up costs 15 to 50 us. Less if it was in
// vain, so that an idle device costs nothing.
constexpr int kMaxSpinUs = 50;

}  // namespace

WorkerPool::WorkerPool(int num_helpers, std::function<void(int)> on_start) {
  for (int i = 0; i < num_helpers; ++i) {
    helpers_.emplace_back([this, i, on_start] {
      if (on_start) on_start(i);
      Help(i);
    });
  }
}

WorkerPool::~WorkerPool() {
  ending_ = true;
  WakeHelpers();
  for (std::thread& helper : helpers_) helper.join();
}

void WorkerPool::Run(int n, absl::FunctionRef<void(int)> work) {
  if (n <= 1 || helpers_.empty()) {
    for (int i = 0; i < n; ++i) work(i);
    return;
  }
  work_ = &work;
  num_done_.store(0, std::memory_order_relaxed);
  ticket_.store(Ticket(RunOf(ticket_.load()) + 1, n));
  WakeHelpers();
  Work();
  for (int spins = 0; num_done_.load(std::memory_order_acquire) < n; ++spins) {
    if (spins < 10000) {
      runtime::Pause();
    } else {
      std::this_thread::yield();  // A helper has lost its core.
    }
  }
}

// Either a helper that is about to block sees what has changed, or it is counted here.
void WorkerPool::WakeHelpers() {
  if (num_asleep_.load() == 0) return;
  ++num_wakes_;
  num_wakes_.notify_all();
}

void WorkerPool::Work() {
  constexpr uint64_t kField = kMaxIndices - 1;
  while (true) {
    const uint64_t ticket = ticket_.fetch_add(1);
    const uint64_t index = ticket & kField, n = ticket >> 20 & kField;
    if (index >= n) return;
    // The run cannot end before this index is done, so work_ stays.
    (*work_)(static_cast<int>(index));
    num_done_.fetch_add(1, std::memory_order_release);
  }
}

void WorkerPool::AwaitRun(uint64_t seen, int& spin_us) {
  const auto changed = [this, seen] { return RunOf(ticket_.load()) != seen || ending_.load(); };
  const Clock::time_point start = Clock::now();
  const auto waited = [&start] { return Clock::now() - start; };
  while (waited() < std::chrono::microseconds(spin_us)) {
    for (int i = 0; i < 20; ++i) {
      if (changed()) {
        spin_us = kMaxSpinUs;
        return;
      }
      runtime::Pause();
    }
  }
  ++num_asleep_;
  for (int32_t wakes = num_wakes_; !changed(); wakes = num_wakes_) num_wakes_.wait(wakes);
  --num_asleep_;
  spin_us = waited() < std::chrono::microseconds(4 * kMaxSpinUs) ? kMaxSpinUs : spin_us / 2;
}

void WorkerPool::Help(int) {
  int spin_us = kMaxSpinUs;
  uint64_t seen = 0;
  while (true) {
    AwaitRun(seen, spin_us);
    if (ending_) return;
    seen = RunOf(ticket_.load());
    Work();
  }
}

}  // namespace kiln::cpu
