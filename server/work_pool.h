// Threads for work of the daemon that takes long and that nobody waits for on a thread of gRPC or of
// a device: compiling graphs, reading blobs.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln::server {

// Thread-safe. Destroying it runs what is queued.
class WorkPool {
 public:
  struct Options {
    int num_threads = 2;
    // Added to the niceness of the threads: with more than 0, a machine whose cores are all busy
    // serves commands first.
    int nice = 0;
  };
  explicit WorkPool(Options options);
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  void Post(std::function<void()> work);

 private:
  void Loop();

  const Options options_;
  absl::Mutex mu_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;  // Last: they use the others.
};

}  // namespace kiln::server
