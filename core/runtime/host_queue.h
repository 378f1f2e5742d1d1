// A queue that is a thread of this process, for devices that run kernels on the CPU.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/clock.h"
#include "core/runtime/device.h"
#include "core/runtime/host_timeline.h"

namespace kiln::runtime {

// Thread-safe. Destroying it runs what is queued, so what that waits for must come.
class HostQueue final : public Queue {
 public:
  // Runs one kernel, all its cores, on the queue's thread, and returns when it is done. All slices
  // are host-visible.
  using RunKernel = std::function<absl::Status(const Executable&, absl::Span<const BufferSlice>,
                                               absl::Span<const int64_t> variables)>;
  struct Options {
    RunKernel run_kernel;
    // Called first on the new thread: to pin or name it. May be empty.
    std::function<void()> on_start;
    // How long the thread looks for more work before it blocks, in microseconds. 0: not at all.
    int spin_us = 30;
  };
  explicit HostQueue(Options options);
  ~HostQueue() override;

  Timeline& timeline() override { return timeline_; }
  Point Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
               std::shared_ptr<Outcome> outcome) override;

 private:
  struct Job {
    std::vector<Dependency> wait;
    std::shared_ptr<CommandList> commands;
    std::shared_ptr<Outcome> outcome;
    uint64_t value;
  };
  void Loop();
  // The next job, or none if the queue ends.
  std::optional<Job> Next();
  void Run(Job job);
  absl::Status RunCommand(const Command& command, CommandList& list, const absl::Status& so_far);

  const Options options_;
  HostTimeline timeline_;
  std::atomic<uint64_t> num_submitted_ = 0;  // Written under mu_; read by a thread that spins.
  std::atomic<bool> ending_ = false;         // The same.
  absl::Mutex mu_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses the others.
};

// Copies between host-visible slices: as many bytes as both have.
void CopyHost(const BufferSlice& to, const BufferSlice& from);

}  // namespace kiln::runtime
