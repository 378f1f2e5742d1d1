// Threads that run one function for many indices at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace kiln::cpu {

// Confined to one thread at a time, which takes part in the work: it never waits for helpers to wake
// up, only for those that have begun.
class WorkerPool {
 public:
  static constexpr int kMaxIndices = 1 << 20;

  // `on_start` is called first on each helper, with its number 0 .. num_helpers-1.
  WorkerPool(int num_helpers, std::function<void(int)> on_start);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls work(0) ... work(n-1), each once, on any of the threads; returns when all are done.
  // Pre: 0 <= n < kMaxIndices.
  void Run(int n, absl::FunctionRef<void(int)> work);

 private:
  // The state of the current run in one number, so that taking an index is one addition: 24 bits of
  // its serial number, 20 bits of n, 20 bits of the next index (beyond n: all are taken).
  static uint64_t Ticket(uint64_t run, int n) { return run << 40 | uint64_t(n) << 20; }
  static uint64_t RunOf(uint64_t ticket) { return ticket >> 40; }

  // Called when ticket_ or ending_ has changed.
  void WakeHelpers();
  // Takes indices and works until there are none.
  void Work();
  void Help(int helper);
  // Returns when the run is not `seen` any more, or the pool ends.
  void AwaitRun(uint64_t seen, int& spin_us);

  std::atomic<uint64_t> ticket_ = 0;
  std::atomic<int> num_done_ = 0;    // Indices of this run.
  std::atomic<int> num_asleep_ = 0;  // Helpers that block, or are about to.
  std::atomic<bool> ending_ = false;
  const absl::FunctionRef<void(int)>* work_ = nullptr;  // Of the run; read by who holds an index.
  std::atomic<int32_t> num_wakes_ = 0;                  // Helpers block until it changes.
  std::vector<std::thread> helpers_;                    // Last: they use the others.
};

}  // namespace kiln::cpu
