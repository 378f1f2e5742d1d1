// Memory of a device, and who may touch it when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/runtime/timeline.h"

namespace kiln::runtime {

class Device;

// How much of a buffer is overwritten.
enum class Extent {
  kWhole,  // What was wrong with the contents is wrong no more.
  kPart,   // It still is.
};

// What has to pass before the contents of a buffer may be read or overwritten. Thread-safe. Whoever
// submits work on a buffer asks, submits, records, under a lock of its own if others may submit
// work on the same buffer (Engine does); queues know nothing of it.
class Hazards {
 public:
  // Appends the writes that made the contents, unless they have passed and went well.
  void AppendBeforeRead(std::vector<Dependency>& to) const;
  // Appends the writes and reads so far that have not passed; only their order matters: what a
  // failed write has left may be overwritten. (Of a part: a few dozen writes of parts that have
  // not passed may come with their outcomes, so that what is kept is bounded.)
  void AppendBeforeWrite(std::vector<Dependency>& to, Extent extent = Extent::kWhole) const;
  // A read that will be over at `point`.
  void AddRead(Point point);
  // A write, submitted with what AppendBeforeWrite gave for this extent as dependencies. Its point
  // may pass before theirs do, if it is cancelled.
  void SetWrite(Dependency write, Extent extent = Extent::kWhole);
  // Blocks until the writes so far have passed, and returns how they went: then the contents may
  // be read.
  absl::Status AwaitReadable() const;
  // Blocks until nothing that was submitted uses the buffer.
  void AwaitWritable() const;

 private:
  void Prune() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Adds a point to before_.
  void Keep(Point point) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  // What made the contents: the last write of the whole, and later ones of parts. Those that have
  // passed and went well are dropped, and all failed ones but the first.
  mutable absl::InlinedVector<Dependency, 1> writes_ ABSL_GUARDED_BY(mu_);
  // Reads since the last write, and what came before it and has not passed. At most one for each
  // timeline.
  mutable absl::InlinedVector<Point, 2> before_ ABSL_GUARDED_BY(mu_);
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
  // Of all buffers that were allocated and live.
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
