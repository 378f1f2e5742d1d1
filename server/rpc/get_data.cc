#include "server/rpc/get_data.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "kiln/v1/kiln.pb.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/raw_message.h"

namespace kiln::server {

GetData* GetData::Start(grpc::CallbackServerContext& context, const grpc::ByteBuffer& request,
                        SessionManager& sessions) {
  const auto chunk = static_cast<uint64_t>(sessions.limits().chunk_bytes);
  const std::shared_ptr<GetData> call(new GetData(context, chunk));  // NOLINT: private.
  {
    const absl::MutexLock lock(&call->mu_);
    call->self_ = call;
  }
  if (absl::Status status = call->Begin(request, sessions); !status.ok()) call->End(status);
  return call.get();
}

absl::Status GetData::Begin(const grpc::ByteBuffer& request, SessionManager& sessions) {
  pb::GetDataRequest message;
  if (!message.ParseFromString(RawMessage(request).Flatten())) {
    return absl::InvalidArgumentError("the message is no valid protobuf");
  }
  KILN_ASSIGN_OR_RETURN(session_, sessions.Find(message.session()));
  KILN_ASSIGN_OR_RETURN(
      std::unique_ptr<Outgoing> outgoing,
      session_->executor().transfers().Get(message.transfer(), shared_from_this()));
  const absl::MutexLock lock(&mu_);
  outgoing_ = std::move(outgoing);
  at_ = message.offset();
  if (is_ready_) SendFirst();
  return absl::OkStatus();
}

void GetData::OnReady() {
  const absl::MutexLock lock(&mu_);
  is_ready_ = true;
  if (outgoing_ != nullptr) SendFirst();
}

void GetData::SendFirst() {
  if (has_ended_ || std::exchange(has_begun_, true)) return;
  const size_t size = outgoing_->bytes().size();
  if (at_ > size) {
    EndLocked(absl::InvalidArgumentError(
        absl::StrCat("offset: ", at_, " is beyond the ", size, " bytes of the transfer")));
  } else if (at_ == size) {
    is_sent_ = true;
    EndLocked(absl::OkStatus());
  } else {
    SendNext();
  }
}

void GetData::SendNext() {
  const absl::Span<const std::byte> rest = outgoing_->bytes().subspan(at_);
  const auto chunk = rest.first(std::min<size_t>(rest.size(), chunk_bytes_));
  message_ = RawChunk(at_, chunk, outgoing_->lease());
  at_ += chunk.size();
  is_writing_ = true;
  if (chunk.size() < rest.size()) {
    StartWrite(&message_);
    return;
  }
  is_sent_ = has_ended_ = true;
  StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
}

void GetData::OnWriteDone(bool ok) {
  session_->Touch();
  const absl::MutexLock lock(&mu_);
  is_writing_ = false;
  message_.Clear();
  if (!ok) is_cancelled_ = true;
  if (has_ended_) return;
  if (is_cancelled_) {
    EndLocked(absl::CancelledError("the client has gone"));
    return;
  }
  outgoing_->Progress();
  SendNext();
}

void GetData::OnEnd(const absl::Status& why) {
  const absl::MutexLock lock(&mu_);
  // What is being written may never get through: without it the status would not, either.
  if (!is_writing_) {
    EndLocked(why);
  } else if (!std::exchange(is_cancelled_, true)) {
    context_.TryCancel();
  }
}

void GetData::OnCancel() {
  const absl::MutexLock lock(&mu_);
  is_cancelled_ = true;
  if (!is_writing_) EndLocked(absl::CancelledError("the client has gone"));
}

void GetData::End(const absl::Status& status) {
  const absl::MutexLock lock(&mu_);
  EndLocked(status);
}

void GetData::EndLocked(const absl::Status& status) {
  if (!std::exchange(has_ended_, true)) Finish(ToGrpc(status));
}

void GetData::OnDone() {
  std::unique_ptr<Outgoing> outgoing;
  std::shared_ptr<GetData> self;
  const absl::MutexLock lock(&mu_);
  message_.Clear();
  self = std::move(self_);
  outgoing = std::move(outgoing_);
  // Nobody else has the transfer now, unless the client has not got it all.
  if (is_sent_ && !is_cancelled_) outgoing->Complete();
}

}  // namespace kiln::server
