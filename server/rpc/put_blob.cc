#include "server/rpc/put_blob.h"

#include <utility>

#include "absl/time/clock.h"

#include "core/dtype/status.h"
#include "kiln/v1/kiln.pb.h"
#include "server/rpc/find_blobs.h"
#include "server/rpc/grpc_status.h"

namespace kiln::server {

PutBlob* PutBlob::Start(SessionManager& sessions, BlobStore* store, grpc::ByteBuffer* response) {
  const std::shared_ptr<PutBlob> call(new PutBlob(sessions, store, response));  // NOLINT: private.
  const absl::MutexLock lock(&call->mu_);
  call->self_ = call;
  if (store == nullptr) {
    call->EndLocked(NoBlobs());
    return call.get();
  }
  call->progress_ = absl::Now();
  call->WatchForStall();
  call->Read();
  return call.get();
}

void PutBlob::Read() {
  message_.Clear();
  StartRead(&message_);
}

void PutBlob::OnReadDone(bool ok) {
  if (session_ == nullptr) {
    const absl::Status status =
        ok ? TakeHeader(RawMessage(message_))
           : absl::InvalidArgumentError("header: the stream ended without one");
    if (!status.ok()) End(status);
    return;
  }
  const absl::MutexLock lock(&mu_);
  progress_ = absl::Now();
  if (has_ended_) return;
  if (!ok) {
    is_at_end_ = true;
    if (!is_working_) Work([this] { return FinishUpload(); });
    return;
  }
  session_->Touch();
  RawMessage message(message_);
  if (is_working_) {
    waiting_.emplace(std::move(message));
  } else {
    WorkOn(std::move(message));
  }
}

absl::Status PutBlob::TakeHeader(const RawMessage& raw) {
  KILN_ASSIGN_OR_RETURN(const Chunk chunk, raw.Parse());
  pb::PutBlobHeader header;
  if (!chunk.has_header || !header.ParseFromString(chunk.header)) {
    return absl::InvalidArgumentError("header: it is missing in the first message, or malformed");
  }
  if (chunk.data_bytes != 0) {
    return absl::InvalidArgumentError("data: the first message has the header only");
  }
  KILN_ASSIGN_OR_RETURN(session_, sessions_.Find(header.session()));
  const absl::MutexLock lock(&mu_);
  Work([this, header]() -> absl::Status {
    auto upload =
        store_->BeginUpload(kOnlyPrincipal, header.sha256(), header.size(), header.offset());
    KILN_RETURN_IF_ERROR(upload.status());
    upload_ = *std::move(upload);
    const absl::MutexLock locked(&mu_);
    was_there_ = upload_ == nullptr;
    if (was_there_) {
      EndLocked(absl::OkStatus());
    } else if (!has_ended_) {
      Read();
    }
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

// ** work **

void PutBlob::Work(std::function<absl::Status()> work) {
  is_working_ = true;
  store_->Post([self = shared_from_this(), work = std::move(work)] { self->WorkDone(work()); });
}

void PutBlob::WorkOn(RawMessage message) {
  const auto shared = std::make_shared<const RawMessage>(std::move(message));
  Work([this, shared] { return WriteChunk(*shared); });
  Read();
}

void PutBlob::WorkDone(const absl::Status& status) {
  const absl::MutexLock lock(&mu_);
  is_working_ = false;
  progress_ = absl::Now();
  if (!status.ok()) EndLocked(status);
  if (has_ended_) return;
  if (waiting_.has_value()) {
    RawMessage message = *std::move(waiting_);
    waiting_.reset();
    WorkOn(std::move(message));
  } else if (is_at_end_) {
    Work([this] { return FinishUpload(); });
  }
}

absl::Status PutBlob::WriteChunk(const RawMessage& message) {
  KILN_ASSIGN_OR_RETURN(const Chunk chunk, message.Parse());
  if (chunk.has_header) {
    return absl::InvalidArgumentError("header: only the first message has one");
  }
  return upload_->Write(chunk.offset, chunk.data);
}

absl::Status PutBlob::FinishUpload() {
  KILN_RETURN_IF_ERROR(upload_->Finish());
  End(absl::OkStatus());
  return absl::OkStatus();
}

// ** the end **

void PutBlob::WatchForStall() {
  // The alarm keeps what it has captured.
  alarm_.Set(absl::ToChronoTime(progress_ + sessions_.limits().transfer_timeout),
             [weak = weak_from_this()](bool is_over) {
               const std::shared_ptr<PutBlob> self = weak.lock();
               if (is_over && self != nullptr) self->CheckForStall();
             });
}

void PutBlob::CheckForStall() {
  const absl::MutexLock lock(&mu_);
  if (has_ended_) return;
  if (is_working_) progress_ = absl::Now();
  if (absl::Now() - progress_ >= sessions_.limits().transfer_timeout) {
    EndLocked(absl::DeadlineExceededError("the stream has stood still for too long"));
  } else {
    WatchForStall();
  }
}

void PutBlob::OnCancel() { End(absl::CancelledError("the client has gone")); }

void PutBlob::End(const absl::Status& status) {
  const absl::MutexLock lock(&mu_);
  EndLocked(status);
}

void PutBlob::EndLocked(const absl::Status& status) {
  if (std::exchange(has_ended_, true)) return;
  if (status.ok()) {
    pb::PutBlobResponse response;
    response.set_was_there(was_there_);
    response_ = ToRaw(response);
  }
  Finish(ToGrpc(status));
}

void PutBlob::OnDone() {
  std::shared_ptr<PutBlob> self;
  const absl::MutexLock lock(&mu_);
  alarm_.Cancel();
  self = std::move(self_);
}

}  // namespace kiln::server
