#include "server/work_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace kiln::server {

WorkPool::WorkPool(Options options) : options_(options) {
  for (int i = 0; i < options_.num_threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkPool::~WorkPool() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkPool::Post(std::function<void()> work) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(work));
}

void WorkPool::Loop() {
  // Of this thread only, on Linux. If it is not allowed, the threads have the priority of others.
  if (options_.nice != 0)
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.nice);
  const auto awake = [this]()
                         ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ending_ || !queue_.empty(); };
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&awake));
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace kiln::server
