// What Transfers, and what streams have of it, share. For transfers.cc and transfer_table.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include "server/executor/transfers.h"

namespace kiln::server::internal {

enum class TransferWay { kIn, kOut };

// What is to be called, and let go of, when the lock is no longer held.
class Effects {
 public:
  Effects() = default;
  ~Effects() {
    for (const std::function<void()>& call : calls_) call();
  }
  Effects(const Effects&) = delete;
  Effects& operator=(const Effects&) = delete;
  void Add(std::function<void()> call) { calls_.push_back(std::move(call)); }

 private:
  std::vector<std::function<void()>> calls_;
};

// Guarded by the table's mutex.
struct TransferEntry {
  explicit TransferEntry(uint64_t number) : id(number) {}

  const uint64_t id;
  std::optional<TransferWay> way;  // None: only expected.
  bool is_expected = false;        // A command is on its way.
  bool has_command = false;
  bool is_over = false;  // No longer in the table.
  const std::byte* data = nullptr;
  std::byte* target = nullptr;  // The same, of a CopyIn.
  uint64_t size = 0, received = 0;
  std::shared_ptr<void> keep;
  Transfers::Done done;
  TransferHold* holder = nullptr;
  absl::Time progress;  // When something has happened last.

  // CopyIn: a stream copies a chunk, without the lock. How the transfer is to end when it has.
  bool is_writing = false;
  std::optional<absl::Status> ends_with;
  // CopyOut: sent to the end; streams and gRPC that still look at the bytes.
  bool is_sent = false;
  int64_t num_leases = 0;
};

struct TransferHold {
  TransferHold(std::shared_ptr<TransferTable> of, std::shared_ptr<TransferEntry> what,
               const std::shared_ptr<TransferStream>& by)
      : table(std::move(of)), entry(std::move(what)), stream(by) {}
  ~TransferHold();

  const std::shared_ptr<TransferTable> table;
  const std::shared_ptr<TransferEntry> entry;
  const std::weak_ptr<TransferStream> stream;
  std::shared_ptr<const void> lease;  // Of a CopyOut: set before OnReady, the stream's then.

  // Guarded by the table's mutex.
  bool is_ready = false;              // OnReady has been, or is being, called.
  std::optional<absl::Status> ended;  // Why the stream no longer has the transfer.
  std::optional<uint64_t> next;       // Where its next chunk goes. None: it has written nothing.
};

// Thread-safe. What Transfers and the handles of its streams share.
class TransferTable : public std::enable_shared_from_this<TransferTable> {
 public:
  explicit TransferTable(Transfers::Options options) : options_(std::move(options)) {}

  void Expect(uint64_t id);
  absl::Status Start(uint64_t id, TransferWay way, absl::Span<const std::byte> bytes,
                     std::byte* target, std::shared_ptr<void> keep, Transfers::Done done);
  void Fail(uint64_t id, const absl::Status& why);
  void Stop(const absl::Status& why, bool for_ever);
  absl::StatusOr<std::unique_ptr<TransferHold>> Attach(
      uint64_t id, TransferWay way, const std::shared_ptr<TransferStream>& stream);
  void Expire();
  int64_t size() const;

  absl::StatusOr<bool> Write(TransferHold& hold, uint64_t offset,
                             absl::Span<const absl::Span<const std::byte>> pieces);
  uint64_t Received(const TransferHold& hold) const;
  bool IsComplete(const TransferHold& hold) const;
  absl::Span<const std::byte> Bytes(const TransferHold& hold) const;
  void Progress(const TransferHold& hold);
  void Complete(TransferHold& hold);
  void Detach(TransferHold& hold);

 private:
  using EntryRef = std::shared_ptr<TransferEntry>;

  absl::StatusOr<EntryRef> FindOrMake(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EntryRef> ForCommand(uint64_t id, TransferWay way)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MaybeReady(TransferEntry& entry, Effects& effects) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(TransferEntry& entry, const absl::Status& why, Effects& effects)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls `done` and lets go of the memory.
  static void Settle(TransferEntry& entry, absl::Status status, Effects& effects);
  static void Oust(TransferEntry& entry, const absl::Status& why, Effects& effects);
  absl::Status CheckChunk(const TransferHold& hold, uint64_t offset, uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StoodStill(const TransferEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<const void> MakeLease(const EntryRef& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndLease(TransferEntry& entry);

  const Transfers::Options options_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, EntryRef> entries_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> cancelled_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::server::internal
