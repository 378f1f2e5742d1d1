// Who wants to see each kernel as it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln::runtime {

class Executable;

// One command of a device, which has run.
struct KernelEvent {
  uint64_t stream;           // Stream::id(); 0: none.
  std::string_view name;     // Of the kernel, or "copy"; valid during the call.
  int64_t copied_bytes;      // 0 if it is a kernel.
  int64_t begin_ns, end_ns;  // HostTimeNs().
  bool ok;
};

// Thread-safe. Called by the thread that runs the device, between kernels: it must be quick, must
// not block and must not call the runtime.
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void OnKernel(const KernelEvent& event) = 0;
};

// Where an observer is put in and taken out while work runs. Thread-safe. Costs a load for each
// command while there is none.
class KernelProbe {
 public:
  // Null: none. The one before may be called a little longer, until it is destroyed.
  void Set(std::shared_ptr<KernelObserver> observer) {
    absl::MutexLock lock(&mu_);
    is_on_.store(observer != nullptr, std::memory_order_relaxed);
    observer_ = std::move(observer);
  }
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  std::shared_ptr<KernelObserver> observer() const {
    absl::MutexLock lock(&mu_);
    return observer_;
  }

 private:
  std::atomic<bool> is_on_ = false;
  mutable absl::Mutex mu_;
  std::shared_ptr<KernelObserver> observer_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::runtime
