#include "client/cpp/internal/command_log.h"

#include <algorithm>
#include <utility>

#include "client/cpp/internal/varint.h"
#include "client/cpp/status.h"

namespace kiln::client {
namespace {

// Tags of RunRequest.commands and of Command.seq, and the longest length and number.
constexpr char kCommandsTag = static_cast<char>(v1::RunRequest::kCommandsFieldNumber << 3 | 2);
constexpr char kSeqTag = static_cast<char>(v1::Command::kSeqFieldNumber << 3);
constexpr size_t kRoom = 1 + kMaxVarintBytes + 1 + kMaxVarintBytes;

}  // namespace

EncodedCommand::EncodedCommand(const v1::Command& command) : begin_(kRoom) {
  const size_t size = command.ByteSizeLong();
  bytes_.resize(kRoom + size);
  command.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(bytes_.data() + kRoom));
}

void EncodedCommand::SetSeq(uint64_t seq) {
  char head[kRoom];
  char number[1 + kMaxVarintBytes];
  number[0] = kSeqTag;
  const size_t number_size = 1 + PutVarint(seq, number + 1);
  head[0] = kCommandsTag;
  size_t size = 1 + PutVarint(number_size + bytes_.size() - kRoom, head + 1);
  std::copy_n(number, number_size, head + size);
  size += number_size;
  begin_ = kRoom - size;
  std::copy_n(head, size, bytes_.data() + begin_);
}

uint64_t CommandLog::Append(EncodedCommand command, std::shared_ptr<Reply> reply) {
  const uint64_t seq = last_seq() + 1;
  command.SetSeq(seq);
  if (reply != nullptr) reply->set_seq(seq);
  bytes_ += command.size();
  entries_.push_back({std::move(command), std::move(reply)});
  return seq;
}

void CommandLog::TakeUnsent(size_t max_bytes, std::string& message) {
  const size_t first = next_;
  size_t bytes = 0;
  for (; next_ < entries_.size(); ++next_) {
    const size_t more = entries_[next_].command.size();
    if (next_ > first && bytes + more > max_bytes) break;
    bytes += more;
  }
  message.reserve(message.size() + bytes);
  for (size_t i = first; i < next_; ++i) {
    message.append(entries_[i].command.data(), entries_[i].command.size());
  }
}

void CommandLog::Resume(uint64_t applied_seq) {
  next_ =
      applied_seq < first_seq_
          ? 0
          : static_cast<size_t>(std::min<uint64_t>(applied_seq + 1 - first_seq_, entries_.size()));
}

void CommandLog::Receive(v1::RunResponse& response, std::vector<Answer>& answers) {
  int next_result = 0;
  const auto take_result = [&](uint64_t seq) {
    v1::Result& result = *response.mutable_results(next_result++);
    if (seq < first_seq_ || seq > last_seq()) return;  // Sent again after a broken stream.
    Entry& entry = entries_[seq - first_seq_];
    if (entry.reply == nullptr) return;
    answers.push_back({std::exchange(entry.reply, nullptr), FromProto(result.status()), &result});
  };
  const uint64_t acked = std::min(response.acked_seq(), last_seq());
  while (first_seq_ <= acked) {
    while (next_result < response.results_size() &&
           response.results(next_result).seq() <= first_seq_) {
      take_result(response.results(next_result).seq());
    }
    Entry& entry = entries_.front();
    if (entry.reply != nullptr) {
      answers.push_back({std::move(entry.reply), absl::OkStatus(), nullptr});
    }
    bytes_ -= entry.command.size();
    entries_.pop_front();
    ++first_seq_;
    if (next_ > 0) --next_;
  }
  while (next_result < response.results_size()) {
    take_result(response.results(next_result).seq());
  }
}

void CommandLog::Fail(const absl::Status& why, std::vector<Answer>& answers) {
  for (Entry& entry : entries_) {
    if (entry.reply != nullptr) answers.push_back({std::move(entry.reply), why, nullptr});
  }
  first_seq_ += entries_.size();
  entries_.clear();
  next_ = bytes_ = 0;
}

}  // namespace kiln::client
