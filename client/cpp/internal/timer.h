// Calls functions later, on a thread of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln::client {

// Thread-safe. Functions must not block. Those that are due when it is destroyed are not called.
class Timer {
 public:
  Timer();
  ~Timer();

  void After(absl::Duration delay, std::function<void()> function);

 private:
  // Of the thread as well, so that a function may destroy the timer.
  struct State {
    absl::Mutex mu;
    absl::CondVar changed ABSL_GUARDED_BY(mu);
    std::multimap<absl::Time, std::function<void()>> due ABSL_GUARDED_BY(mu);
    bool stopping ABSL_GUARDED_BY(mu) = false;
  };
  static void Loop(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
};

}  // namespace kiln::client
