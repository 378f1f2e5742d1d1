// Queues for devices that run kernels on the CPU: one thread runs what is in all of them.
//
//   HostExecutor executor({.run_kernel = ...});
//   executor.queue().Submit(wait, list, outcome);
//   const std::shared_ptr<Queue> mine = executor.OpenQueue({});
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/clock.h"
#include "core/runtime/device.h"
#include "core/runtime/host_timeline.h"

namespace kiln::runtime {

// Runs one kernel, all its cores, on the calling thread, and returns when it is done; one at a
// time. All slices are host-visible.
using RunKernel = std::function<absl::Status(const Executable&, absl::Span<const BufferSlice>,
                                             absl::Span<const int64_t> variables)>;

class HostScheduler;

// An order of work. Thread-safe. Its state is the scheduler's, and guarded by its lock.
class HostQueue final : public Queue {
 public:
  explicit HostQueue(HostScheduler& scheduler) : scheduler_(scheduler) {}

  using Queue::Submit;
  Timeline& timeline() override { return timeline_; }
  Point Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
               std::shared_ptr<Outcome> outcome, SubmitMode mode) override;
  void RunHere(Point until) override;
  void Cancel(const absl::Status& status) override;
  void EndCancelled() override;
  QueueLoad load() const override;
  Point last_point() const override;

 private:
  friend class HostScheduler;
  struct Job {
    absl::InlinedVector<Dependency, 1> wait;
    std::shared_ptr<CommandList> commands;
    std::shared_ptr<Outcome> outcome;
    uint64_t value;
    uint32_t next_wait = 0, next_command = 0;  // Those before are done.
    absl::Status status;                       // So far.
    absl::Status cancelled;                    // Not OK: it is, with this.
    int64_t device_ns = 0;
  };
  enum class State : uint8_t {
    kIdle,     // No jobs.
    kWaiting,  // The first job waits for a point, which will call HostScheduler::Wake.
    kReady,    // In HostScheduler::ready_.
    kOwned,    // A thread is at the first job, and it alone, without holding the lock.
  };

  HostScheduler& scheduler_;
  HostTimeline timeline_;
  // Written under the lock.
  std::atomic<uint64_t> num_submitted_ = 0;
  // Written by the owner, or under the lock.
  std::atomic<int64_t> num_commands_ = 0, device_ns_ = 0;

  // ** guarded by HostScheduler::mu_ **
  State state_ = State::kIdle;
  bool is_open_ = true;
  QueueOptions options_;       // Also read by the owner.
  std::deque<Job> jobs_;       // The owner has a pointer to the first one.
  uint64_t num_waits_ = 0;     // Tells calls of HostScheduler::Wake for this wait from late ones.
  absl::Status cancel_first_;  // Not OK: the owner has to cancel the first job.
  int64_t used_ns_ = 0;        // Virtual time: device time, and what it has missed while idle.
};

// Chooses which queue runs next. Thread-safe. Devices use HostExecutor.
class HostScheduler : public std::enable_shared_from_this<HostScheduler> {
 public:
  struct Options {
    RunKernel run_kernel;
    // Called first on the new thread: to pin or name it. May be empty.
    std::function<void()> on_start = {};
    // How long the thread looks for more work before it blocks, in microseconds. 0: not at all.
    int spin_us = 30;
    // The time by which queues take turns, in nanoseconds: never goes back.
    int64_t (*clock_ns)() = &HostTimeNs;
  };
  explicit HostScheduler(Options options) : options_(std::move(options)) {}

  std::shared_ptr<HostQueue> Open(QueueOptions options);
  // What the thread does until End: also what is queued then.
  void Loop();
  void End();
  // Queues that there are, open or not.
  int num_queues() const;
  int64_t busy_ns() const { return busy_ns_.load(std::memory_order_relaxed); }

 private:
  friend class HostQueue;
  using State = HostQueue::State;
  using Job = HostQueue::Job;
  struct Ready {
    int64_t used_ns;
    uint64_t turn;  // Of two alike, the one that has waited for longer goes first.
    HostQueue* queue;
    bool operator<(const Ready& o) const {  // For heaps, whose first is the largest.
      return used_ns != o.used_ns ? used_ns > o.used_ns : turn > o.turn;
    }
  };
  enum Attention : int { kNone, kOthersReady, kCancelled };

  // ** states of queues **
  // Puts a queue that nobody owns in the state that its first job asks for.
  void Settle(HostQueue& q, bool was_active) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the first job can go on; if not, Wake will be called when a point has passed.
  bool NextCanRun(HostQueue& q) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasPassed(HostQueue& q, Point point) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake(HostQueue& q, uint64_t wait);
  HostQueue& PopReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveReady(HostQueue& q) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What queues that have something to do have used at least: where one that comes new begins.
  int64_t LeastUsed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Close(HostQueue& q);
  // Whether the thread should take up what is ready: not what is held for callers of RunHere. (They
  // come at once, so it does not matter that what they hold may not be ready.)
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells the thread that there may be something to do, unless it works anyhow.
  void Ring() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetAttention() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // ** as owner of a queue, most of it without the lock (host_execution.cc) **
  // Runs jobs of a queue that was popped, until another goes first, it has to wait or has no more,
  // or `until` is done. Releases the lock in between.
  void Execute(HostQueue& q, uint64_t until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the queue that executes keeps the device. If it waits, that is its state then.
  bool NextIsOurs(HostQueue& q) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether all are done; else something needs attention, or the next is to wait.
  bool RunCommands(HostQueue& q, Job& job);
  absl::Status RunCommand(const Command& command, CommandList& list);
  absl::Status RunObserved(const HostQueue& q, const Command& command, CommandList& list);
  static void Finish(HostQueue& q, Job& job);
  // Ends the jobs at the front that are cancelled. Releases the lock in between.
  void FinishCancelled(HostQueue& q) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PopJob(HostQueue& q) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  // Read between two commands: why it might be time to stop.
  std::atomic<int> attention_ = kNone;
  std::atomic<int64_t> busy_ns_ = 0;  // Written by who executes.
  // See Ring. The thread looks at it all the time: apart from what others write.
  alignas(64) std::atomic<bool> bell_ = false;
  alignas(64) mutable absl::Mutex mu_;
  absl::CondVar bell_rung_;
  bool is_asleep_ ABSL_GUARDED_BY(mu_) = false;  // The thread: on bell_rung_.
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  int64_t num_jobs_ ABSL_GUARDED_BY(mu_) = 0;            // Of all queues.
  int num_held_ ABSL_GUARDED_BY(mu_) = 0;                // Submissions before their RunHere.
  int num_owners_ ABSL_GUARDED_BY(mu_) = 0;              // Threads that own a queue.
  HostQueue* executing_ ABSL_GUARDED_BY(mu_) = nullptr;  // Has the device.
  bool thread_executes_ ABSL_GUARDED_BY(mu_) = false;    // Not a caller of RunHere.
  int64_t began_ns_ ABSL_GUARDED_BY(mu_) = 0;  // Until then, executing_->used_ns_ is up to date.
  // What the last one to be chosen had used; or to leave, if nobody wanted the device meanwhile.
  int64_t now_ns_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t num_turns_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Ready> ready_ ABSL_GUARDED_BY(mu_);  // A heap.
  std::vector<std::unique_ptr<HostQueue>> queues_ ABSL_GUARDED_BY(mu_);
  std::vector<HostQueue*> free_ ABSL_GUARDED_BY(mu_);  // Idle and not open.
};

// A scheduler with its thread. Thread-safe. Destroying it runs what is queued, so what that waits
// for must come.
class HostExecutor {
 public:
  using Options = HostScheduler::Options;
  explicit HostExecutor(Options options)
      : scheduler_(std::make_shared<HostScheduler>(std::move(options))),
        queue_(scheduler_->Open({})),
        thread_([this] { scheduler_->Loop(); }) {}
  ~HostExecutor() {
    scheduler_->End();
    thread_.join();
  }

  Queue& queue() { return *queue_; }
  std::shared_ptr<Queue> OpenQueue(QueueOptions options) {
    return scheduler_->Open(std::move(options));
  }
  int num_queues() const { return scheduler_->num_queues(); }
  int64_t busy_ns() const { return scheduler_->busy_ns(); }

 private:
  // Shared with threads that are about to leave it, when the last job is done.
  const std::shared_ptr<HostScheduler> scheduler_;
  const std::shared_ptr<HostQueue> queue_;
  std::thread thread_;  // Last: it uses the others.
};

// Copies between host-visible slices: as many bytes as both have.
void CopyHost(const BufferSlice& to, const BufferSlice& from);

}  // namespace kiln::runtime
