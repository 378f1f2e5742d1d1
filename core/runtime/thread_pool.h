// Threads for work that is done in parallel and waited for: compiling.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace kiln::runtime {

// Thread-safe.
class ThreadPool {
 public:
  // `num_threads` of its own, in addition to those that call it; may be 0.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls fn(0), ..., fn(n-1), in that order but several at a time, one of them on this thread, and
  // returns when all have returned. They may wait for each other's results only if they need none
  // of a later one.
  void ForEach(int n, absl::FunctionRef<void(int)> fn);

 private:
  void Loop();

  absl::Mutex mu_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;  // Last: they use the others.
};

}  // namespace kiln::runtime
