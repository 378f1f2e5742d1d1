// What becomes of a command: written once by the connection, waited for by the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "kiln/v1/command.pb.h"

namespace kiln::client {

// Thread-safe. Has one part, the command's result, or more: those of the streams that carry its
// bytes. It is done when all have ended; the command's failure counts before those of the streams.
class Reply {
 public:
  explicit Reply(int parts = 1) : parts_(parts) {}

  // ** the connection's side **
  void set_seq(uint64_t seq) { seq_.store(seq, std::memory_order_relaxed); }
  // Called with how the command went, and its result, before the reply is done, on a thread of
  // gRPC; cheap. May change both. False: it has sent another command with this reply instead.
  using Sink = std::function<bool(absl::Status&, v1::Result&)>;
  void set_sink(Sink sink) { sink_ = std::make_shared<Sink>(std::move(sink)); }
  // The command's part. `result` may be null: it answers nothing. Emptied.
  void FinishCommand(absl::Status status, v1::Result* result);
  // The part of a stream.
  void FinishStream(const absl::Status& status);

  // ** the caller's side **
  uint64_t seq() const { return seq_.load(std::memory_order_relaxed); }
  bool is_done() const { return state_.load(std::memory_order_acquire) == kDone; }
  // Sends what this thread holds back (Session::Hold), then waits: spinning a while if recent waits
  // on this thread were short, then asleep.
  void Wait();
  // After Wait.
  const absl::Status& status() const { return status_; }
  const v1::Result& result() const { return result_; }

 private:
  enum State : uint32_t { kPending, kDone };
  void FinishPart();

  std::atomic<uint32_t> state_ = kPending;
  std::atomic<int> parts_;
  std::atomic<uint64_t> seq_ = 0;
  // Written by the one part that each belongs to; read when all have ended.
  absl::Status status_, stream_status_;
  v1::Result result_;
  std::shared_ptr<Sink> sink_;
};

// Called before a thread waits; set by hold.cc.
void ReleaseHeldCommands();

}  // namespace kiln::client
