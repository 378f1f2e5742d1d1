#include "server/session/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/runtime/clock.h"
#include "server/command_kind.h"
#include "server/status.h"

namespace kiln::server {
namespace {

absl::Status Ended(const absl::Status& why) {
  return absl::NotFoundError(absl::StrCat("the session has ended: ", why.message()));
}

}  // namespace

Session::Session(SessionOptions options, std::unique_ptr<Executor> executor)
    : options_(std::move(options)), executor_(std::move(executor)) {
  Touch();
}

Session::~Session() {
  absl::MutexLock lock(&mu_);
  *options_.total_queued_bytes -= counted_bytes_;
}

void Session::Touch() { touched_ns_ = absl::ToUnixNanos(absl::Now()); }

absl::Time Session::expires() const {
  return absl::FromUnixNanos(touched_ns_.load()) + options_.lease;
}

// ** commands **

absl::Status Session::Post(google::protobuf::RepeatedPtrField<pb::Command>& commands) {
  Touch();
  std::vector<std::pair<pb::Cancel, uint64_t>> cancels;
  {
    absl::MutexLock lock(&mu_);
    if (ended_.has_value()) return Ended(*ended_);
    uint64_t last = 0;
    for (const pb::Command& command : commands) {
      if (command.seq() == 0 || command.seq() <= last) {
        return absl::InvalidArgumentError(
            absl::StrCat("command numbers must rise from 1: ", command.seq(), " follows ", last));
      }
      last = command.seq();
    }
    const int64_t now_ns = runtime::HostTimeNs();
    for (pb::Command& command : commands) {
      if (command.has_cancel() && command.seq() > queue_.applied_seq()) {
        cancels.emplace_back(command.cancel(), command.seq());
      }
      queue_.Add(std::move(command), now_ns);
    }
    CountQueued();
  }
  commands.Clear();
  for (const auto& [cancel, seq] : cancels) Cancel(cancel, seq);
  Pump();
  return absl::OkStatus();
}

bool Session::MayBegin() const {
  if (waiting_) return false;
  return ended_.has_value() || queue_.unacked_bytes() <= options_.limits.max_unacked_bytes;
}

void Session::Pump() {
  {
    absl::MutexLock lock(&mu_);
    if (pumping_) return;
    pumping_ = true;
  }
  while (true) {
    CommandEntry* entry;
    std::optional<absl::Status> cancelled;
    {
      absl::MutexLock lock(&mu_);
      entry = MayBegin() ? queue_.Next() : nullptr;
      if (entry == nullptr) {
        pumping_ = false;
        break;
      }
      queue_.Advance();
      cancelled = ended_.has_value() ? ended_ : entry->cancelled;
      waiting_ = true;  // Until it is known that it need not.
    }
    Begin(*entry, cancelled);
  }
  TellSinks();
}

void Session::Begin(CommandEntry& entry, const std::optional<absl::Status>& cancelled) {
  entry.began_ns = runtime::HostTimeNs();
  const auto self = shared_from_this();
  auto next = Executor::Next::kGoOn;
  if (cancelled.has_value()) {
    executor_->Skip(entry.command, *cancelled);
    Finish(entry, {.status = *cancelled});
  } else {
    next = executor_->Begin(
        std::move(entry.command),
        [self, &entry](CommandOutcome outcome) { self->Finish(entry, std::move(outcome)); },
        [self] { self->Resume(); });
  }
  if (next == Executor::Next::kGoOn) {
    absl::MutexLock lock(&mu_);
    waiting_ = false;
  }
}

void Session::Resume() {
  {
    absl::MutexLock lock(&mu_);
    waiting_ = false;
  }
  // Not on this thread: it may be a device's.
  options_.pool->Post([self = shared_from_this()] { self->Pump(); });
}

void Session::Finish(CommandEntry& entry, CommandOutcome outcome) {
  if (options_.observer != nullptr) {
    options_.observer->OnCommand({.kind = KindName(entry.kind),
                                  .session = options_.id,
                                  .seq = entry.seq,
                                  .arrived_ns = entry.arrived_ns,
                                  .began_ns = entry.began_ns,
                                  .done_ns = runtime::HostTimeNs(),
                                  .status = outcome.status});
  }
  std::vector<std::function<void()>> on_retired;
  bool tell;
  {
    absl::MutexLock lock(&mu_);
    entry.result = std::move(outcome.result);
    entry.result.set_seq(entry.seq);
    entry.has_result = outcome.has_result || !outcome.status.ok();
    if (!outcome.status.ok()) {
      pb::Status& status = *entry.result.mutable_status();
      status = ToProto(outcome.status);
      if (absl::IsInternal(outcome.status))
        status.set_request_id(RequestId(options_.id, entry.seq));
      ++num_failed_;
    }
    ++num_done_;
    entry.on_retired = std::move(outcome.on_retired);
    entry.is_done = true;
    has_news_ |= queue_.Retire(on_retired) > 0;
    CountQueued();
    tell = has_news_ && !pumping_;  // Else Pump tells, once for all that it has begun.
  }
  for (const auto& f : on_retired) f();
  if (tell) TellSinks();
}

void Session::Cancel(const pb::Cancel& cancel, uint64_t seq) {
  const uint64_t up_to = cancel.up_to() == 0 ? seq - 1 : std::min(cancel.up_to(), seq - 1);
  const absl::Status why = absl::CancelledError(absl::StrCat("cancelled by command ", seq));
  bool stops_running;
  {
    absl::MutexLock lock(&mu_);
    queue_.Cancel(up_to, why);
    stops_running = queue_.newest_begun() <= up_to;
  }
  if (stops_running) executor_->Stop(why);
}

bool Session::IsFull() const {
  const SessionLimits& limits = options_.limits;
  return queue_.num_commands() >= static_cast<size_t>(limits.max_queued_commands) ||
         queue_.queued_bytes() >= limits.max_queued_bytes ||
         executor_->queued_device_ns() >= absl::ToInt64Nanoseconds(limits.max_queued_device_time) ||
         (counted_bytes_ > kSmallQueueBytes &&
          *options_.total_queued_bytes > limits.max_total_queued_bytes);
}

void Session::CountQueued() {
  const int64_t now = queue_.queued_bytes() + queue_.unacked_bytes();
  *options_.total_queued_bytes += now - counted_bytes_;
  counted_bytes_ = now;
}

bool Session::is_full() const {
  absl::MutexLock lock(&mu_);
  return IsFull();
}

bool Session::is_stuck() const {
  absl::MutexLock lock(&mu_);
  return IsFull() && queue_.unacked_bytes() > options_.limits.max_unacked_bytes;
}

void Session::Received(uint64_t received_seq) {
  bool pump;
  {
    absl::MutexLock lock(&mu_);
    const bool was_held = queue_.unacked_bytes() > options_.limits.max_unacked_bytes;
    queue_.Received(std::min(received_seq, queue_.acked_seq()));
    CountQueued();
    pump = was_held && queue_.unacked_bytes() <= options_.limits.max_unacked_bytes;
  }
  if (pump) Pump();
}

// ** results **

absl::StatusOr<uint64_t> Session::Attach(std::shared_ptr<ResultSink> sink) {
  std::shared_ptr<ResultSink> old;
  uint64_t applied;
  {
    absl::MutexLock lock(&mu_);
    if (ended_.has_value()) return Ended(*ended_);
    old = std::exchange(stream_, std::move(sink));
    applied = queue_.applied_seq();
  }
  Touch();
  if (old != nullptr) {
    old->OnDetached(absl::AbortedError("another stream of this session has taken over"));
  }
  return applied;
}

absl::Status Session::Watch(std::shared_ptr<ResultSink> sink) {
  absl::MutexLock lock(&mu_);
  if (ended_.has_value()) return Ended(*ended_);
  watchers_.push_back(std::move(sink));
  return absl::OkStatus();
}

void Session::Detach(const ResultSink* sink) {
  std::shared_ptr<ResultSink> dropped;  // Dies after the lock is released.
  absl::MutexLock lock(&mu_);
  if (stream_.get() == sink) dropped = std::move(stream_);
  const auto found = std::find_if(watchers_.begin(), watchers_.end(),
                                  [&](const auto& w) { return w.get() == sink; });
  if (found != watchers_.end()) {
    dropped = std::move(*found);
    watchers_.erase(found);
  }
}

void Session::TellSinks() {
  std::vector<std::shared_ptr<ResultSink>> sinks;
  {
    absl::MutexLock lock(&mu_);
    if (!has_news_) return;
    has_news_ = false;
    sinks = watchers_;
    if (stream_ != nullptr) sinks.push_back(stream_);
  }
  for (const auto& sink : sinks) sink->OnProgress();
}

Session::Progress Session::CopyResults(uint64_t after, uint64_t up_to, int64_t max_bytes,
                                       google::protobuf::RepeatedPtrField<pb::Result>& to) const {
  absl::MutexLock lock(&mu_);
  Progress progress;
  progress.sent_seq = queue_.CopyResults(after, up_to, max_bytes, to);
  progress.has_more = progress.sent_seq < std::min(queue_.newest_result(), up_to);
  progress.acked_seq = progress.has_more ? progress.sent_seq : queue_.acked_seq();
  return progress;
}

bool Session::is_idle() const {
  absl::MutexLock lock(&mu_);
  return queue_.num_commands() == 0;
}

// ** the end **

void Session::End(const absl::Status& why) {
  std::vector<std::shared_ptr<ResultSink>> sinks;
  {
    absl::MutexLock lock(&mu_);
    if (ended_.has_value()) return;
    ended_ = why;
    sinks = std::move(watchers_);
    watchers_.clear();
    if (stream_ != nullptr) sinks.push_back(std::move(stream_));
    stream_ = nullptr;
  }
  for (const auto& sink : sinks) sink->OnDetached(Ended(why));
  executor_->End(why);
  Pump();  // What has not begun fails.
  if (options_.observer != nullptr) options_.observer->OnSessionEnded(options_.id, why);
}

pb::SessionInfo Session::Describe() const {
  const Executor::Usage usage = executor_->usage();
  const absl::Time now = absl::Now();
  pb::SessionInfo info;
  info.set_id(options_.id);
  info.set_client_name(options_.client_name);
  info.set_peer(options_.peer);
  info.set_age_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(now - opened_)));
  info.set_lease_left_ms(static_cast<uint64_t>(
      absl::ToInt64Milliseconds(std::max(absl::ZeroDuration(), expires() - now))));
  info.set_device_bytes(static_cast<uint64_t>(usage.bytes));
  info.set_num_buffers(static_cast<uint64_t>(usage.num_buffers));
  info.set_num_graphs(static_cast<uint64_t>(usage.num_graphs));
  info.set_device_time_us(static_cast<uint64_t>(usage.device_time_ns / 1000));
  absl::MutexLock lock(&mu_);
  info.set_is_connected(stream_ != nullptr);
  info.set_queued_commands(queue_.num_commands());
  info.set_commands(static_cast<uint64_t>(num_done_));
  info.set_failed_commands(static_cast<uint64_t>(num_failed_));
  return info;
}

}  // namespace kiln::server
