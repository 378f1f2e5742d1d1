#include "client/cpp/internal/core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/internal/channel.h"
#include "client/cpp/internal/hold.h"

namespace kiln::client {
namespace {

constexpr size_t kMessageBytes = size_t{1} << 20;  // Of commands that go in one message.
constexpr size_t kMostUnacked = size_t{1} << 16;   // Commands.
constexpr absl::Duration kCloseTimeout = absl::Seconds(1);

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
}

absl::Status At(const std::string& address, const grpc::Status& status) {
  const absl::Status plain = FromGrpc(status);
  return absl::Status(plain.code(), absl::StrCat(address, ": ", plain.message()));
}

// Before the n-th try (from 0): at once, then 20 ms, 40 ms ... 2 s.
absl::Duration Backoff(int attempt) {
  if (attempt == 0) return absl::ZeroDuration();
  return std::min(absl::Milliseconds(20) * std::pow(2.0, std::min(attempt, 10) - 1),
                  absl::Seconds(2));
}

}  // namespace

// One KeepAlive. Deletes itself.
class KeepAliveCall {
 public:
  static void Start(std::shared_ptr<Core> core, const std::shared_ptr<grpc::Channel>& channel,
                    absl::Duration timeout) {
    auto* call = new KeepAliveCall(std::move(core), channel);
    SetDeadline(call->context_, timeout);
    call->stub_->async()->KeepAlive(&call->context_, &call->request_, &call->response_,
                                    [call](const grpc::Status& status) {
                                      call->core_->OnKeptAlive(status, call->started_);
                                      delete call;
                                    });
  }

 private:
  KeepAliveCall(std::shared_ptr<Core> core, const std::shared_ptr<grpc::Channel>& channel)
      : core_(std::move(core)), stub_(v1::Kiln::NewStub(channel)), request_(core_->ref()) {}

  const std::shared_ptr<Core> core_;
  const std::unique_ptr<v1::Kiln::Stub> stub_;
  const absl::Time started_ = absl::Now();
  grpc::ClientContext context_;
  const v1::SessionRef request_;
  v1::KeepAliveResponse response_;
};

Core::Core(std::string address, std::string target, const SessionOptions& options)
    : address_(std::move(address)), target_(std::move(target)), options_(options) {}

absl::StatusOr<std::shared_ptr<Core>> Core::Connect(const std::string& address,
                                                    const SessionOptions& options) {
  absl::StatusOr<std::string> target = TargetOf(address);
  if (!target.ok()) return target.status();
  std::shared_ptr<Core> core(new Core(address, *std::move(target), options));
  if (absl::Status opened = core->Open(); !opened.ok()) return opened;
  // Streams and timers hold `core` itself; who uses the session holds this.
  return std::shared_ptr<Core>(core.get(), [core](Core*) mutable {
    core->Shutdown();
    core.reset();
  });
}

absl::Status Core::Open() {
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(target_);
  const std::unique_ptr<v1::Kiln::Stub> stub = v1::Kiln::NewStub(channel);
  {
    grpc::ClientContext context;
    SetDeadline(context, options_.connect_timeout);
    const grpc::Status status = stub->GetServerInfo(&context, {}, &info_);
    if (!status.ok()) return At(address_, status);
  }
  v1::OpenSessionRequest request;
  request.set_client_name(options_.client_name);
  request.set_lease_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(options_.lease)));
  request.set_fast_math(options_.fast_math);
  v1::OpenSessionResponse response;
  grpc::ClientContext context;
  SetDeadline(context, options_.connect_timeout);
  const grpc::Status status = stub->OpenSession(&context, request, &response);
  if (!status.ok()) return At(address_, status);
  ref_ = response.session();
  lease_ = absl::Milliseconds(response.lease_ms());
  give_up_after_ = options_.give_up_after > absl::ZeroDuration() ? options_.give_up_after : lease_;
  ack_every_bytes_ = std::clamp<size_t>(limits().max_unacked_bytes() / 4, 1, kMessageBytes);
  {
    absl::MutexLock lock(&mu_);
    channel_ = channel;
    last_sent_ = last_received_ = absl::Now();
  }
  OpenStream();
  timer_.After(lease_ / 12, [weak = weak_from_this()] {
    if (const auto core = weak.lock()) core->Tick();
  });
  return absl::OkStatus();
}

// ** the stream **

void Core::OpenStream() {
  std::shared_ptr<RunStream> stream;
  std::string first;
  {
    absl::MutexLock lock(&mu_);
    if (!failure_.ok() || stream_ != nullptr) return;
    stream = stream_ = RunStream::Create(shared_from_this(), channel_);
    v1::RunRequest request;
    *request.mutable_session() = ref_;
    request.set_received_seq(log_.received_seq());
    first = request.SerializeAsString();
    // A session's first stream need not wait for what has arrived: nothing has.
    stream->is_open = !is_resuming_;
    last_sent_ = absl::Now();
  }
  stream->Start(std::move(first));
}

std::string Core::NextMessage() {
  std::string message;
  if (unreported_bytes_ > 0) {
    v1::RunRequest request;
    request.set_received_seq(log_.received_seq());
    message = request.SerializeAsString();
    unreported_bytes_ = 0;
  }
  log_.TakeUnsent(std::min<size_t>(kMessageBytes, limits().max_message_bytes() / 2), message);
  last_sent_ = absl::Now();
  return message;
}

void Core::Kick() {
  std::shared_ptr<RunStream> stream;
  std::string message;
  {
    absl::MutexLock lock(&mu_);
    if (stream_ == nullptr || !stream_->is_open) return;
    if (!log_.has_unsent() && unreported_bytes_ < ack_every_bytes_) return;
    if (!stream_->ClaimWrite()) return;
    stream = stream_;
    message = NextMessage();
  }
  stream->Write(std::move(message));
}

void Core::OnWritable(RunStream&) { Kick(); }

void Core::OnMessage(RunStream& stream, v1::RunResponse& response) {
  // The vector is kept for its memory.
  static thread_local std::vector<CommandLog::Answer> answers;
  {
    absl::MutexLock lock(&mu_);
    last_received_ = absl::Now();
    if (response.has_opened()) {
      if (is_resuming_) log_.Resume(response.opened().applied_seq());
      is_resuming_ = stream.is_open = true;
      lost_since_ = absl::InfiniteFuture();
      attempts_ = 0;
    }
    log_.Receive(response, answers);
    if (response.results_size() > 0) unreported_bytes_ += response.ByteSizeLong();
    has_room_.SignalAll();
  }
  for (CommandLog::Answer& answer : answers) answer.Deliver();
  answers.clear();
  Kick();
}

void Core::OnEnd(RunStream& stream, const grpc::Status& status) {
  bool is_over = false;
  {
    absl::MutexLock lock(&mu_);
    if (stream_.get() != &stream) return;
    stream_ = nullptr;
    is_resuming_ = true;
    if (!failure_.ok()) return;
    lost_since_ = std::min(lost_since_, absl::Now());
    is_over = !status.ok() && !IsConnectionFailure(status);
    if (!is_over) {
      timer_.After(Backoff(attempts_++), [weak = weak_from_this()] {
        if (const auto core = weak.lock()) core->OpenStream();
      });
    }
  }
  if (is_over) Fail(At(address_, status));
}

// ** commands **

bool Core::HasRoom(size_t bytes) const {
  return log_.size() == 0 ||
         (log_.bytes() + bytes <= options_.max_unacked_bytes && log_.size() < kMostUnacked);
}

void Core::Submit(const v1::Command& command, std::shared_ptr<Reply> reply) {
  EncodedCommand encoded(command);
  absl::Status failure;
  {
    absl::MutexLock lock(&mu_);
    if (reply != nullptr && failure_.ok() && !HasRoom(encoded.size())) {
      mu_.Unlock();
      ReleaseHeldCommands();
      mu_.Lock();
      while (failure_.ok() && !HasRoom(encoded.size())) has_room_.Wait(&mu_);
    }
    failure = failure_;
    if (failure.ok()) log_.Append(std::move(encoded), reply);
  }
  if (!failure.ok()) {
    if (reply != nullptr) reply->FinishCommand(failure, nullptr);
  } else if (!HeldCommands::Holds(this)) {
    Kick();
  }
}

bool Core::SubmitAfter(uint64_t seq, const v1::Command& command, std::shared_ptr<Reply> reply) {
  EncodedCommand encoded(command);
  {
    absl::MutexLock lock(&mu_);
    if (!failure_.ok() || log_.last_seq() != seq) return false;
    log_.Append(std::move(encoded), std::move(reply));
  }
  Kick();
  return true;
}

// ** life and end **

void Core::Tick() {
  std::shared_ptr<grpc::Channel> channel;
  bool is_lost = false;
  {
    absl::MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    const absl::Time now = absl::Now();
    is_lost = now - lost_since_ > give_up_after_;
    const absl::Time last = std::min(last_sent_, last_received_);
    if (!is_keeping_alive_ && now - last > lease_ / 4) {
      is_keeping_alive_ = true;
      channel = channel_;
    }
  }
  if (is_lost) {
    return Fail(absl::UnavailableError(
        absl::StrCat(address_, ": no connection for ", absl::FormatDuration(give_up_after_))));
  }
  if (channel != nullptr) KeepAliveCall::Start(shared_from_this(), channel, lease_ / 3);
  timer_.After(lease_ / 12, [weak = weak_from_this()] {
    if (const auto core = weak.lock()) core->Tick();
  });
}

void Core::OnKeptAlive(const grpc::Status& status, absl::Time started) {
  std::shared_ptr<RunStream> stuck;
  std::shared_ptr<grpc::Channel> old_channel;
  bool may_be_dead = false;
  {
    absl::MutexLock lock(&mu_);
    is_keeping_alive_ = false;
    if (!failure_.ok()) return;
    may_be_dead =
        status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED || IsConnectionFailure(status);
    if (status.ok()) {
      last_sent_ = last_received_ = absl::Now();
    } else if (may_be_dead && last_received_ < started) {
      // The connection may be dead without having been closed: a new one tells.
      old_channel = std::exchange(channel_, MakeChannel(target_));
      stuck = stream_;
      lost_since_ = std::min(lost_since_, absl::Now());
    }
  }
  if (stuck != nullptr) stuck->Cancel();
  if (!status.ok() && !may_be_dead) Fail(At(address_, status));
}

void Core::Fail(const absl::Status& why) {
  std::vector<CommandLog::Answer> answers;
  std::shared_ptr<RunStream> stream;
  std::shared_ptr<grpc::Channel> channel;
  std::set<std::shared_ptr<BulkCall>> calls;
  {
    absl::MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    failure_ = why;
    log_.Fail(why, answers);
    stream = stream_;
    channel = std::move(channel_);
    calls = calls_;
    has_room_.SignalAll();
  }
  if (stream != nullptr) stream->Cancel();
  for (const std::shared_ptr<BulkCall>& call : calls) call->Cancel(why);
  for (CommandLog::Answer& answer : answers) answer.Deliver();
}

std::shared_ptr<grpc::Channel> Core::channel() {
  absl::MutexLock lock(&mu_);
  return channel_;
}

absl::Status Core::AddCall(std::shared_ptr<BulkCall> call) {
  absl::MutexLock lock(&mu_);
  if (failure_.ok()) calls_.insert(std::move(call));
  return failure_;
}

void Core::RemoveCall(const std::shared_ptr<BulkCall>& call) {
  absl::MutexLock lock(&mu_);
  calls_.erase(call);
  calls_ended_.SignalAll();
}

absl::Status Core::status() {
  absl::MutexLock lock(&mu_);
  return failure_;
}

absl::Status Core::Close() {
  const auto reply = std::make_shared<Reply>();
  v1::Command sync;
  sync.mutable_sync();
  Submit(sync, reply);
  reply->Wait();
  Shutdown();
  return reply->status();
}

void Core::Shutdown() {
  if (const std::shared_ptr<grpc::Channel> channel = this->channel()) {
    grpc::ClientContext context;
    SetDeadline(context, kCloseTimeout);
    v1::CloseSessionResponse response;
    // If it does not get through, the lease does the same.
    (void)v1::Kiln::NewStub(channel)->CloseSession(&context, ref_, &response);
  }
  Fail(absl::CancelledError("the session was closed"));
  absl::MutexLock lock(&mu_);
  while (!calls_.empty()) calls_ended_.Wait(&mu_);
}

}  // namespace kiln::client
