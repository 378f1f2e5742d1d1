#include "server/rpc/put_data.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/dtype/status.h"
#include "kiln/v1/kiln.pb.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/raw_message.h"

namespace kiln::server {

PutData* PutData::Start(SessionManager& sessions, grpc::ByteBuffer* response) {
  const std::shared_ptr<PutData> call(new PutData(sessions, response));  // NOLINT: private.
  const absl::MutexLock lock(&call->mu_);
  call->self_ = call;
  // Later the transfers see to it that no stream stands still. The alarm keeps what it has captured.
  call->header_alarm_.Set(absl::ToChronoTime(absl::Now() + sessions.limits().transfer_timeout),
                          [weak = std::weak_ptr<PutData>(call)](bool is_late) {
                            const std::shared_ptr<PutData> self = weak.lock();
                            if (!is_late || self == nullptr) return;
                            self->End(absl::DeadlineExceededError("header: it has not come"));
                          });
  call->Read();
  return call.get();
}

void PutData::Read() {
  message_.Clear();
  StartRead(&message_);
}

void PutData::OnReadDone(bool ok) {
  if (session_ == nullptr) {
    header_alarm_.Cancel();
    const absl::Status status =
        ok ? TakeHeader() : absl::InvalidArgumentError("header: the stream ended without one");
    if (!status.ok()) End(status);
    return;
  }
  if (!ok) {
    End(absl::InvalidArgumentError(absl::StrCat("the stream ended after ", incoming_->received(),
                                                " bytes, others are missing")));
    return;
  }
  const absl::StatusOr<bool> is_complete = TakeChunk();
  if (!is_complete.ok() || *is_complete) {
    End(is_complete.status());
    return;
  }
  const absl::MutexLock lock(&mu_);
  if (!has_ended_) Read();
}

absl::Status PutData::TakeHeader() {
  const RawMessage raw(message_);
  KILN_ASSIGN_OR_RETURN(const Chunk chunk, raw.Parse());
  pb::PutDataHeader header;
  if (!chunk.has_header || !header.ParseFromString(chunk.header)) {
    return absl::InvalidArgumentError("header: it is missing in the first message, or malformed");
  }
  if (chunk.data_bytes != 0) {
    return absl::InvalidArgumentError("data: the first message has the header only");
  }
  KILN_ASSIGN_OR_RETURN(session_, sessions_.Find(header.session()));
  KILN_ASSIGN_OR_RETURN(
      std::unique_ptr<Incoming> incoming,
      session_->executor().transfers().Put(header.transfer(), shared_from_this()));
  const absl::MutexLock lock(&mu_);
  incoming_ = std::move(incoming);
  if (is_ready_) Begin();
  return absl::OkStatus();
}

absl::StatusOr<bool> PutData::TakeChunk() {
  const RawMessage raw(message_);
  message_.Clear();
  KILN_ASSIGN_OR_RETURN(const Chunk chunk, raw.Parse());
  if (chunk.has_header) {
    return absl::InvalidArgumentError("header: only the first message has one");
  }
  session_->Touch();
  return incoming_->Write(chunk.offset, chunk.data);
}

void PutData::Begin() {
  if (has_ended_ || std::exchange(has_begun_, true)) return;
  if (incoming_->is_complete()) {
    EndLocked(absl::OkStatus());
  } else {
    Read();
  }
}

void PutData::OnReady() {
  const absl::MutexLock lock(&mu_);
  is_ready_ = true;
  if (incoming_ != nullptr) Begin();
}

void PutData::OnEnd(const absl::Status& why) { End(why); }

void PutData::OnCancel() { End(absl::CancelledError("the client has gone")); }

void PutData::End(const absl::Status& status) {
  const absl::MutexLock lock(&mu_);
  EndLocked(status);
}

void PutData::EndLocked(const absl::Status& status) {
  if (std::exchange(has_ended_, true)) return;
  if (status.ok()) {
    pb::PutDataResponse response;
    response.set_received(incoming_->received());
    response_ = ToRaw(response);
  }
  Finish(ToGrpc(status));
}

void PutData::OnDone() {
  header_alarm_.Cancel();
  std::unique_ptr<Incoming> incoming;
  std::shared_ptr<PutData> self;
  const absl::MutexLock lock(&mu_);
  incoming = std::move(incoming_);
  self = std::move(self_);
}

}  // namespace kiln::server
