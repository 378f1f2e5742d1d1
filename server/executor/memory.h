// The buffers of a session by id: memory, part of it that an id stands for, and whether it holds
// anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/buffer.h"
#include "server/status.h"

namespace kiln::server {

// What memory holds after a write to it: nothing, if that or, for a write of a part, one before it has
// failed. Thread-safe.
class Contents {
 public:
  // Of memory that nobody has written.
  static std::shared_ptr<Contents> Undefined();
  // Of a write that has begun. `base`: what was there, if only part of it is overwritten.
  static std::shared_ptr<Contents> BeingWritten(std::shared_ptr<Contents> base);
  static std::shared_ptr<Contents> Failed(Failure failure);

  // How the write went. Once.
  void Settle(std::optional<Failure> failure);
  // What has failed so far.
  std::optional<Failure> failure() const;

 private:
  mutable absl::Mutex mu_;
  bool is_settled_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<Failure> failure_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Contents> base_ ABSL_GUARDED_BY(mu_);
};

// Memory that one or more ids, of one or more sessions, stand for. Thread-safe.
class Allocation {
 public:
  Allocation(std::shared_ptr<runtime::Buffer> buffer, int64_t bytes)
      : buffer_(std::move(buffer)), bytes_(bytes) {}

  const std::shared_ptr<runtime::Buffer>& buffer() const { return buffer_; }
  int64_t bytes() const { return bytes_; }
  std::shared_ptr<Contents> contents() const;
  // It is being written from now on, in full or in part. What is returned is to be settled.
  std::shared_ptr<Contents> BeginWrite(bool is_full);
  // A write of it has failed before it began.
  void Poison(const Failure& failure);

 private:
  const std::shared_ptr<runtime::Buffer> buffer_;
  const int64_t bytes_;
  mutable absl::Mutex mu_;
  std::shared_ptr<Contents> contents_ ABSL_GUARDED_BY(mu_) = Contents::Undefined();
};

// Bytes, or whatever else is counted for a session, as long as it lives.
class Charge {
 public:
  Charge(std::shared_ptr<std::atomic<int64_t>> used, int64_t bytes)
      : used_(std::move(used)), bytes_(bytes) {
    *used_ += bytes_;
  }
  ~Charge() { *used_ -= bytes_; }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  const std::shared_ptr<std::atomic<int64_t>> used_;
  const int64_t bytes_;
};

// What an id stands for. A value.
struct MemoryRange {
  std::shared_ptr<Allocation> allocation;  // Null: a command that should have made it has failed.
  std::shared_ptr<const Charge> charge;
  std::shared_ptr<const void> share;  // Keeps the tickets valid that were made of it.
  int64_t offset = 0, bytes = 0;
  bool is_writable = true;
  Failure failure = {};  // If there is no memory.

  bool is_whole() const { return offset == 0 && bytes == allocation->bytes(); }
};

// Thread-safe.
class MemoryTable {
 public:
  struct Limits {
    int64_t max_buffers;
    int64_t max_bytes;
  };
  explicit MemoryTable(Limits limits) : limits_(limits) {}

  // The range of an id; also one that holds nothing. NotFound, InvalidArgument (0).
  absl::StatusOr<MemoryRange> Find(uint64_t id) const;
  // The memory of an id, to be read: FailedPrecondition if it holds nothing.
  absl::StatusOr<MemoryRange> FindReadable(uint64_t id) const;
  // To be written, in full or in part: FailedPrecondition if there is no memory; PermissionDenied.
  absl::StatusOr<MemoryRange> FindWritable(uint64_t id) const;
  bool Has(uint64_t id) const;

  // InvalidArgument (0), AlreadyExists, ResourceExhausted (ids). FailedPrecondition: closed.
  absl::Status CheckNew(uint64_t id) const;
  // ResourceExhausted if `more` bytes are too many.
  absl::Status CheckBytes(int64_t more) const;
  // Pre: CheckNew, or the table is closed, then nothing happens.
  void Add(uint64_t id, MemoryRange range);
  // Makes `id` stand for nothing, because of `failure`, unless the id exists.
  void AddFailed(uint64_t id, const Failure& failure);
  absl::Status Remove(uint64_t id);
  void SetShare(uint64_t id, std::shared_ptr<const void> share);
  std::shared_ptr<const Charge> NewCharge(int64_t bytes) const {
    return std::make_shared<Charge>(used_, bytes);
  }
  // Drops all; nothing can be added any more.
  void Close();

  int64_t used_bytes() const { return *used_; }
  int64_t size() const;

 private:
  const Limits limits_;
  const std::shared_ptr<std::atomic<int64_t>> used_ = std::make_shared<std::atomic<int64_t>>(0);
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<uint64_t, MemoryRange> ranges_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::server
