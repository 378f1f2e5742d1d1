#include "server/session/command_queue.h"

#include <algorithm>
#include <utility>

namespace kiln::server {

CommandEntry* CommandQueue::Add(pb::Command command, int64_t now_ns) {
  if (command.seq() <= applied_seq_) return nullptr;
  applied_seq_ = command.seq();
  auto entry = std::make_unique<CommandEntry>();
  entry->seq = command.seq();
  entry->kind = command.command_case();
  entry->bytes = static_cast<int64_t>(command.ByteSizeLong());
  entry->command = std::move(command);
  entry->arrived_ns = now_ns;
  queued_bytes_ += entry->bytes;
  entries_.push_back(std::move(entry));
  return entries_.back().get();
}

CommandEntry* CommandQueue::Next() {
  return next_ < entries_.size() ? entries_[next_].get() : nullptr;
}

int CommandQueue::Retire(std::vector<std::function<void()>>& on_retired) {
  int retired = 0;
  while (next_ > 0 && entries_.front()->is_done) {
    CommandEntry& entry = *entries_.front();
    acked_seq_ = entry.seq;
    queued_bytes_ -= entry.bytes;
    if (entry.on_retired) on_retired.push_back(std::move(entry.on_retired));
    if (entry.has_result) {
      unacked_bytes_ += static_cast<int64_t>(entry.result.ByteSizeLong());
      results_.push_back(std::move(entry.result));
    }
    entries_.pop_front();
    --next_;
    ++retired;
  }
  return retired;
}

void CommandQueue::Cancel(uint64_t up_to, const absl::Status& why) {
  for (size_t i = next_; i < entries_.size() && entries_[i]->seq <= up_to; ++i) {
    if (!entries_[i]->cancelled.has_value()) entries_[i]->cancelled = why;
  }
}

void CommandQueue::Received(uint64_t received_seq) {
  while (!results_.empty() && results_.front().seq() <= received_seq) {
    unacked_bytes_ -= static_cast<int64_t>(results_.front().ByteSizeLong());
    results_.pop_front();
  }
}

uint64_t CommandQueue::CopyResults(uint64_t after, uint64_t up_to, int64_t max_bytes,
                                   google::protobuf::RepeatedPtrField<pb::Result>& to) const {
  const auto seq_is_more = [](uint64_t seq, const pb::Result& r) { return seq < r.seq(); };
  auto it = std::upper_bound(results_.begin(), results_.end(), after, seq_is_more);
  for (int64_t bytes = 0; it != results_.end() && it->seq() <= up_to && bytes < max_bytes; ++it) {
    bytes += static_cast<int64_t>(it->ByteSizeLong());
    *to.Add() = *it;
    after = it->seq();
  }
  return after;
}

}  // namespace kiln::server
