#include "client/cpp/internal/timer.h"

#include <utility>

#include "absl/time/clock.h"

namespace kiln::client {

Timer::Timer() : thread_([state = state_] { Loop(state); }) {}

Timer::~Timer() {
  std::multimap<absl::Time, std::function<void()>> dropped;
  {
    absl::MutexLock lock(&state_->mu);
    state_->stopping = true;
    dropped.swap(state_->due);
    state_->changed.Signal();
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Timer::After(absl::Duration delay, std::function<void()> function) {
  absl::MutexLock lock(&state_->mu);
  if (state_->stopping) return;
  state_->due.emplace(absl::Now() + delay, std::move(function));
  state_->changed.Signal();
}

void Timer::Loop(const std::shared_ptr<State>& state) {
  state->mu.Lock();
  while (!state->stopping) {
    if (state->due.empty()) {
      state->changed.Wait(&state->mu);
      continue;
    }
    const auto first = state->due.begin();
    if (first->first > absl::Now()) {
      state->changed.WaitWithDeadline(&state->mu, first->first);
      continue;
    }
    std::function<void()> function = std::move(first->second);
    state->due.erase(first);
    state->mu.Unlock();
    function();
    function = nullptr;
    state->mu.Lock();
  }
  state->mu.Unlock();
}

}  // namespace kiln::client
