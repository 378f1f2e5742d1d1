#include "server/rpc/run_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "server/rpc/grpc_status.h"

namespace kiln::server {
namespace {
// Of the results in one message.
constexpr int64_t kMaxResponseBytes = int64_t{4} << 20;
}  // namespace

RunStream* RunStream::Start(SessionManager& sessions) {
  const std::shared_ptr<RunStream> stream(
      new RunStream(sessions));  // NOLINT: a private constructor.
  stream->self_ = stream;
  stream->StartRead(&stream->request_);
  return stream.get();
}

void RunStream::OnReadDone(bool ok) {
  if (!ok) {
    {
      absl::MutexLock lock(&mu_);
      has_half_closed_ = true;
    }
    if (session_ == nullptr) return End(absl::InvalidArgumentError("a stream without a request"));
    return WriteOn();
  }
  if (absl::Status status = Handle(); !status.ok()) return End(status);
  ReadOn();
}

absl::Status RunStream::Handle() {
  if (session_ == nullptr) {
    KILN_RETURN_IF_ERROR(Open());
  } else if (request_.has_session()) {
    return absl::InvalidArgumentError("session is given in the first request only");
  } else {
    session_->Received(request_.received_seq());
  }
  KILN_RETURN_IF_ERROR(session_->Post(*request_.mutable_commands()));
  return absl::OkStatus();
}

absl::Status RunStream::Open() {
  KILN_ASSIGN_OR_RETURN(session_, sessions_.Find(request_.session()));
  session_->Received(request_.received_seq());
  {
    absl::MutexLock lock(&mu_);
    sent_seq_ = request_.received_seq();
  }
  KILN_ASSIGN_OR_RETURN(const uint64_t applied, session_->Attach(shared_from_this()));
  {
    absl::MutexLock lock(&mu_);
    is_open_ = has_opened_ = true;
    applied_seq_ = applied;
  }
  WriteOn();
  return absl::OkStatus();
}

void RunStream::ReadOn() {
  {
    absl::MutexLock lock(&mu_);
    if (has_ended_) return;
    if (session_->is_full()) {
      is_paused_ = true;
    } else {
      is_paused_ = false;
      StartRead(&request_);
      return;
    }
  }
  if (session_->is_stuck()) {
    return End(absl::ResourceExhaustedError(absl::StrCat(
        "more than max_unacked_bytes, ", session_->limits().max_unacked_bytes,
        ", of results are not acknowledged and the queue is full: send received_seq more often")));
  }
  // Room may have come between looking and pausing.
  OnProgress();
}

void RunStream::OnProgress() {
  {
    absl::MutexLock lock(&mu_);
    if (is_paused_ && !has_ended_ && !session_->is_full()) {
      is_paused_ = false;
      StartRead(&request_);
    }
  }
  WriteOn();
}

void RunStream::WriteOn() {
  bool is_over = false;
  {
    absl::MutexLock lock(&mu_);
    if (!is_open_ || is_writing_ || has_ended_) return;
    response_.Clear();
    const Session::Progress progress = session_->CopyResults(
        sent_seq_, ~uint64_t{0}, kMaxResponseBytes, *response_.mutable_results());
    const bool has_news =
        has_opened_ || progress.acked_seq > acked_seq_ || response_.results_size() > 0;
    if (has_news) {
      if (has_opened_) response_.mutable_opened()->set_applied_seq(applied_seq_);
      has_opened_ = false;
      sent_seq_ = progress.sent_seq;
      acked_seq_ = progress.acked_seq;
      response_.set_acked_seq(acked_seq_);
      is_writing_ = true;
      StartWrite(&response_);
    } else {
      is_over = has_half_closed_ && session_->is_idle();
    }
  }
  if (is_over) End(absl::OkStatus());
}

void RunStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    is_writing_ = false;
  }
  // Else the connection is gone: OnCancel comes.
  if (ok) WriteOn();
}

void RunStream::OnCancel() { End(absl::CancelledError("the connection is gone")); }

void RunStream::OnDetached(const absl::Status& why) { End(why); }

void RunStream::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    if (has_ended_) return;
    has_ended_ = true;
  }
  Finish(ToGrpc(status));
}

void RunStream::OnDone() {
  if (session_ != nullptr) session_->Detach(this);
  self_.reset();  // May destroy this.
}

}  // namespace kiln::server
