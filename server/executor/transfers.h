// Where bulk bytes meet their commands: a CopyIn or CopyOut with a transfer id on one side, the
// PutData or GetData stream of that id on the other, whichever comes first.
//
//   // The executor, when the turn of a CopyIn has come:
//   transfers.Receive(7, bytes, keep, [](absl::Status s) { ... });
//   // A PutData stream, when its header has been read:
//   std::unique_ptr<Incoming> in = *transfers.Put(7, stream);  // stream->OnReady() comes.
//   in->Write(0, pieces);
//
// A transfer needs both sides. A side that waits for the other, and a transfer that makes no
// progress, end after Options::timeout. One stream at a time has a transfer: a newer one takes over,
// and the older ends with Aborted. What ends with its stream only (a broken connection) leaves the
// transfer waiting for another stream, which goes on where the last one was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kiln::server {

namespace internal {
class TransferTable;
struct TransferHold;
}  // namespace internal

// The stream that carries a transfer's bytes, as the transfers see it. Both are called on any
// thread, also before Put or Get have returned; they must be cheap and must not block.
class TransferStream {
 public:
  virtual ~TransferStream() = default;
  // The command has come: the stream may write, or read. At most once.
  virtual void OnReady() = 0;
  // The transfer has ended, or another stream has it: this one is to end with `why`. At most once,
  // instead of OnReady or after it; nothing comes after it. Not called for what the stream learns
  // from Write or has closed itself.
  virtual void OnEnd(const absl::Status& why) = 0;
};

// Confined to one stream (one call at a time). What a PutData stream has of a transfer. Destroying
// it gives the transfer back: another stream may go on.
class Incoming {
 public:
  explicit Incoming(std::unique_ptr<internal::TransferHold> hold);
  ~Incoming();

  // After OnReady. Writes a chunk, given in pieces, `offset` bytes into the transfer. The first of a
  // stream begins anywhere in what has arrived or at its end, each other one where the last ended.
  // Copies on this thread. Returns whether all bytes have come: the stream is done then.
  // InvalidArgument: a gap, an overlap, or bytes beyond the end; that ends the transfer as well.
  // Else why the transfer has ended.
  absl::StatusOr<bool> Write(uint64_t offset, absl::Span<const absl::Span<const std::byte>> pieces);
  // Bytes from the start that have come, in this and earlier streams.
  uint64_t received() const;
  // Whether all have: nothing is to be written any more. After OnReady; true at once if the transfer
  // has no bytes.
  bool is_complete() const;

 private:
  std::unique_ptr<internal::TransferHold> hold_;
};

// Confined to one stream (one call at a time). What a GetData stream has of a transfer.
class Outgoing {
 public:
  explicit Outgoing(std::unique_ptr<internal::TransferHold> hold);
  ~Outgoing();

  // After OnReady. All bytes of the transfer. They stay readable, and the command's buffer locked,
  // while somebody holds `lease`.
  absl::Span<const std::byte> bytes() const;
  std::shared_ptr<const void> lease() const;
  // Some have been sent: the timeout begins anew.
  void Progress();
  // All have been sent: the transfer ends as soon as no lease is held. Without it, destroying this
  // leaves the transfer to another stream.
  void Complete();

 private:
  std::unique_ptr<internal::TransferHold> hold_;
};

// Thread-safe. The transfers of one session. Callbacks are never called under a lock. Streams may
// outlive it.
class Transfers {
 public:
  // Called exactly once, on any thread; cheap.
  using Done = std::function<void(absl::Status)>;

  struct Options {
    int64_t max_transfers = 64;  // Commands and waiting streams.
    absl::Duration timeout = absl::Seconds(30);
    std::function<absl::Time()> now = absl::Now;
  };
  explicit Transfers(Options options);
  ~Transfers();  // Cancels.

  // ** commands **
  // A command with this transfer has arrived but can't begin yet: a stream that waits for it does
  // so without a timeout, until Receive, Send or Fail.
  void Expect(uint64_t id);
  // CopyIn: the bytes of the transfer are to be written to `to`, which `keep` keeps alive. `done`:
  // OK when all have come; else why they won't: DeadlineExceeded, InvalidArgument (the client sent
  // other bytes), what Fail or Cancel said. Nothing is written after it. Returns InvalidArgument:
  // id 0, or one that a GetData waits for; AlreadyExists: id in use; ResourceExhausted: too many.
  // `done` is not called then.
  absl::Status Receive(uint64_t id, absl::Span<std::byte> to, std::shared_ptr<void> keep,
                       Done done);
  // CopyOut: GetData is to fetch `from`. `done`: OK when all has been sent and gRPC has let go of
  // it; else as above. Until then nobody may write there. After an error the memory may still be
  // read, so `keep` may live longer, but what is read goes nowhere.
  absl::Status Send(uint64_t id, absl::Span<const std::byte> from, std::shared_ptr<void> keep,
                    Done done);
  // The command fails before it begins: the stream that waits for it, if there is one, ends with
  // `why`. Nothing if the transfer belongs to another command, which has begun.
  void Fail(uint64_t id, const absl::Status& why);
  // Ends the transfers whose commands have begun, with `why` (not OK), and their streams.
  void Stop(const absl::Status& why);
  // Ends all, and refuses what comes later, with `why` (not OK). The first time counts.
  void Cancel(const absl::Status& why);

  // ** streams **
  // Makes `stream` the one that has transfer `id`, and tells it when the command is there. Errors as
  // of Receive, but that an id in use is none.
  absl::StatusOr<std::unique_ptr<Incoming>> Put(uint64_t id,
                                                const std::shared_ptr<TransferStream>& stream);
  absl::StatusOr<std::unique_ptr<Outgoing>> Get(uint64_t id,
                                                const std::shared_ptr<TransferStream>& stream);

  // ** time **
  // Ends what has stood still for too long. To be called a few times a second.
  void Expire();

  // Commands and waiting streams.
  int64_t size() const;

 private:
  std::shared_ptr<internal::TransferTable> table_;
};

}  // namespace kiln::server
