// The commands that the server has not acknowledged, encoded, in order: what may have to be sent
// (again), and where answers go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "client/cpp/internal/reply.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::client {

// One command as the field `commands` of a RunRequest, but for its number, which is put in front
// when it is known: so it is encoded once, outside of all locks.
class EncodedCommand {
 public:
  // `command` has no seq.
  explicit EncodedCommand(const v1::Command& command);
  void SetSeq(uint64_t seq);
  // After SetSeq.
  const char* data() const { return bytes_.data() + begin_; }
  size_t size() const { return bytes_.size() - begin_; }

 private:
  std::string bytes_;  // Room for tags, length and number; then the command.
  size_t begin_;
};

// Thread-compatible.
class CommandLog {
 public:
  // A reply with how its command went. `result` may be null.
  struct Answer {
    std::shared_ptr<Reply> reply;
    absl::Status status;
    v1::Result* result = nullptr;
    void Deliver() { reply->FinishCommand(std::move(status), result); }
  };

  // Numbers the command and puts it at the end. `reply` may be null: nobody wants to know.
  uint64_t Append(EncodedCommand command, std::shared_ptr<Reply> reply);

  // ** sending **
  bool has_unsent() const { return next_ < entries_.size(); }
  // Appends unsent commands, some `max_bytes` but at least one, to an encoded RunRequest. They
  // count as sent.
  void TakeUnsent(size_t max_bytes, std::string& message);
  // The stream has broken; the server has the commands up to this one, the others are unsent.
  void Resume(uint64_t applied_seq);

  // ** receiving **
  // Removes what `response` acknowledges and appends the answers, in order. Their results are those
  // of `response`.
  void Receive(v1::RunResponse& response, std::vector<Answer>& answers);
  // Removes all, which end with `why`.
  void Fail(const absl::Status& why, std::vector<Answer>& answers);

  // Up to here all are done and their results received.
  uint64_t received_seq() const { return first_seq_ - 1; }
  uint64_t last_seq() const { return first_seq_ + entries_.size() - 1; }
  size_t size() const { return entries_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    EncodedCommand command;
    std::shared_ptr<Reply> reply;
  };

  std::deque<Entry> entries_;
  uint64_t first_seq_ = 1;  // Of entries_[0].
  size_t next_ = 0;         // The first that is unsent.
  size_t bytes_ = 0;
};

}  // namespace kiln::client
