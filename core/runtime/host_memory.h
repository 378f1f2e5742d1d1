// Memory for devices that use the host's: aligned, in huge pages, and kept for reuse, since the
// first touch of fresh pages costs ten times what a simple kernel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/buffer.h"

namespace kiln::runtime {

// Thread-safe. Buffers must be destroyed before it.
class HostMemory final : public Memory {
 public:
  struct Options {
    int64_t total_bytes = 0;                    // Of all buffers; 0: the memory of the machine.
    int64_t max_kept_bytes = int64_t{1} << 30;  // Of freed memory kept for reuse.
  };
  static constexpr int64_t kAlignment = 64;  // A cache line, and the widest vector.

  HostMemory(Device& device, Options options);
  ~HostMemory() override;

  MemoryLimits Limits() const override;
  // Costs a system call for each block of more than 64 KB that can't be reused.
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes, BufferUse use) override;
  absl::StatusOr<std::unique_ptr<Buffer>> Import(absl::Span<std::byte> host,
                                                 HostLifetime lifetime) override;
  int64_t used_bytes() const override;

 private:
  class PooledBuffer;
  struct Block {
    std::byte* data;
    int64_t bytes;
  };
  void Free(Block block);
  // Gives kept blocks back to the system until at most `max_bytes` are kept.
  void Trim(int64_t max_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Device& device_;
  const Options options_;
  mutable absl::Mutex mu_;
  int64_t used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t kept_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int64_t, std::vector<std::byte*>> kept_ ABSL_GUARDED_BY(mu_);  // By size.
};

}  // namespace kiln::runtime
