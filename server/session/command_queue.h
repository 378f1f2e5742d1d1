// The commands of a session that are under way, and the results that its client may still ask for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "kiln/v1/command.pb.h"
#include "kiln/v1/kiln.pb.h"
#include "server/pb.h"

namespace kiln::server {

// One command, from its arrival until those before it and it itself are done.
struct CommandEntry {
  pb::Command command;  // Emptied when it begins.
  pb::Result result;
  pb::Command::CommandCase kind = pb::Command::COMMAND_NOT_SET;
  uint64_t seq = 0;
  int64_t bytes = 0;  // Of its message.
  int64_t arrived_ns = 0, began_ns = 0;
  std::function<void()> on_retired;  // Called once those before it are done, too. May be empty.
  std::optional<absl::Status> cancelled;  // Before it began: it fails with this.
  bool has_result = false;                // Else success is all there is to tell.
  bool is_done = false;
};

// Thread-compatible.
class CommandQueue {
 public:
  // Adds a command, unless its number has been seen. Null if so; else borrowed until Retire.
  CommandEntry* Add(pb::Command command, int64_t now_ns);
  // The next command that has not begun, or null.
  CommandEntry* Next();
  // The one after what Next gave: it has begun now.
  void Advance() { ++next_; }
  // Takes those at the front that are done, in order, to the results. Returns how many; appends what
  // is to be called without locks.
  int Retire(std::vector<std::function<void()>>& on_retired);
  // Those that have not begun and whose number is at most `up_to` fail when their turn comes.
  void Cancel(uint64_t up_to, const absl::Status& why);
  // Of the newest that has begun and is not retired; 0 if there is none.
  uint64_t newest_begun() const { return next_ == 0 ? 0 : entries_[next_ - 1]->seq; }

  uint64_t applied_seq() const { return applied_seq_; }  // The last that arrived.
  uint64_t acked_seq() const { return acked_seq_; }      // All up to it are done.
  size_t num_commands() const { return entries_.size(); }
  int64_t queued_bytes() const { return queued_bytes_; }
  int64_t unacked_bytes() const { return unacked_bytes_; }

  // Forgets results up to `received_seq`.
  void Received(uint64_t received_seq);
  // Appends results with numbers above `after`, about `max_bytes` of them, at least one if there
  // are any. Returns the number of the last; `after` if there is none.
  uint64_t CopyResults(uint64_t after, uint64_t up_to, int64_t max_bytes,
                       google::protobuf::RepeatedPtrField<pb::Result>& to) const;
  // Of the newest result; 0 if there is none.
  uint64_t newest_result() const { return results_.empty() ? 0 : results_.back().seq(); }

 private:
  std::deque<std::unique_ptr<CommandEntry>> entries_;  // By number.
  size_t next_ = 0;                                    // In entries_: the first that has not begun.
  std::deque<pb::Result> results_;                     // By number.
  uint64_t applied_seq_ = 0, acked_seq_ = 0;
  int64_t queued_bytes_ = 0, unacked_bytes_ = 0;
};

}  // namespace kiln::server
