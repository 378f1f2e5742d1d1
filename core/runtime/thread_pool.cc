#include "core/runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace kiln::runtime {
namespace {

// One call of ForEach. Shared with tasks that may begin after it is over: they find nothing to do.
struct Work {
  Work(int count, absl::FunctionRef<void(int)> call) : n(count), fn(call) {}
  void Run() {
    for (int i = next++; i < n; i = next++) {
      fn(i);
      absl::MutexLock lock(&mu);
      ++num_done;
    }
  }
  void WaitForAll() {
    const auto all = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu) { return num_done == n; };
    absl::MutexLock lock(&mu);
    mu.Await(absl::Condition(&all));
  }

  const int n;
  const absl::FunctionRef<void(int)> fn;  // Valid until all are done.
  std::atomic<int> next = 0;
  absl::Mutex mu;
  int num_done ABSL_GUARDED_BY(mu) = 0;
};

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Loop(); });
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::ForEach(int n, absl::FunctionRef<void(int)> fn) {
  if (n <= 0) return;
  const auto work = std::make_shared<Work>(n, fn);
  const int helpers = std::min<int>(n - 1, static_cast<int>(threads_.size()));
  if (helpers > 0) {
    absl::MutexLock lock(&mu_);
    for (int i = 0; i < helpers; ++i) tasks_.emplace_back([work] { work->Run(); });
  }
  work->Run();
  work->WaitForAll();
}

void ThreadPool::Loop() {
  const auto awake = [this]()
                         ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ending_ || !tasks_.empty(); };
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&awake));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace kiln::runtime
