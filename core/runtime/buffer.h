// Memory of a device, and who may touch it when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/runtime/timeline.h"

namespace kiln::runtime {

class Device;

// What has to pass before the contents of a buffer may be read or overwritten. Thread-safe. Whoever
// submits work on a buffer asks, submits, records, under a lock of its own if others may submit
// work on the same buffer (Engine does); queues know nothing of it.
class Hazards {
 public:
  // Appends the last write, unless that has passed and went well.
  void AppendBeforeRead(std::vector<Dependency>& to) const;
  // Appends the last write and the reads since then, as far as they have not passed; only their
  // order matters: what a failed write has left may be overwritten.
  void AppendBeforeWrite(std::vector<Dependency>& to) const;
  // A read that will be over at `point`.
  void AddRead(Point point);
  // A write, submitted with what AppendBeforeWrite gave as dependencies: it stands for all that
  // came before it.
  void SetWrite(Dependency write);
  // Blocks until the last write has passed, and returns how it went: then the contents may be read.
  absl::Status AwaitReadable() const;
  // Blocks until nothing that was submitted uses the buffer.
  void AwaitWritable() const;

 private:
  mutable absl::Mutex mu_;
  Dependency write_ ABSL_GUARDED_BY(mu_);
  std::vector<Point> reads_ ABSL_GUARDED_BY(mu_);  // At most one for each timeline.
};

// A range of bytes of one device. Its contents are ordered by timelines: see Hazards. The object is
// thread-safe; implemented by devices. Destroyed only when nothing submitted uses it any more
// (CommandList::Retain) and before its device.
class Buffer {
 public:
  // `host`: where the bytes are for the CPU; null if it cannot reach them.
  Buffer(Device& device, int64_t bytes, std::byte* host)
      : device_(device), bytes_(bytes), host_(host) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;

  Device& device() const { return device_; }
  int64_t bytes() const { return bytes_; }
  std::byte* host() const { return host_; }
  Hazards& hazards() { return hazards_; }

 private:
  Device& device_;
  const int64_t bytes_;
  std::byte* const host_;
  Hazards hazards_;
};

// Part of a buffer: what a kernel is given. Borrowed.
struct BufferSlice {
  Buffer* buffer = nullptr;
  int64_t offset = 0;  // Bytes; a multiple of MemoryLimits::alignment where a kernel uses it.
  int64_t bytes = 0;

  std::byte* host() const { return buffer->host() + offset; }  // Pre: host-visible.
  friend bool operator==(const BufferSlice&, const BufferSlice&) = default;
};

enum class BufferUse {
  kDevice,   // Kernels of the device.
  kStaging,  // Passed between host and device: always host-visible.
};

enum class HostLifetime {
  kUntilDestroyed,  // The memory outlives the buffer.
};

struct MemoryLimits {
  int64_t alignment;        // Bytes, a power of two: of every allocation, and of slices in kernels.
  int64_t max_alloc_bytes;  // Of one buffer.
  int64_t total_bytes;
};

// Memory of one device. Thread-safe. Implemented in backends/<name>.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual MemoryLimits Limits() const = 0;
  // Of living buffers.
  virtual int64_t used_bytes() const = 0;
  // Returns a buffer of at least `bytes` bytes (> 0), aligned to Limits().alignment; contents
  // undefined. The buffer is owned by the caller and must be destroyed before the device.
  // ResourceExhausted if it does not fit now; InvalidArgument if it can never fit. May block up to
  // ~1 ms; never on the device.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes, BufferUse use) = 0;
  // Optional: makes host memory visible to the device. Default: Unimplemented.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Import(absl::Span<std::byte> host,
                                                         HostLifetime lifetime);
};

}  // namespace kiln::runtime
