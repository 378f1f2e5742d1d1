#include "client/cpp/internal/run_stream.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/slice.h>

#include <utility>

namespace kiln::client {

grpc::ByteBuffer ToBuffer(std::string message) {
  auto* owned = new std::string(std::move(message));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); },
      owned);
  return grpc::ByteBuffer(&slice, 1);
}

std::shared_ptr<RunStream> RunStream::Create(std::shared_ptr<RunStreamOwner> owner,
                                             const std::shared_ptr<grpc::Channel>& channel) {
  std::shared_ptr<RunStream> stream(new RunStream(std::move(owner)));
  stream->self_ = stream;
  // Commands wait for the connection; who owns the stream gives up when it takes too long.
  stream->context_.set_wait_for_ready(true);
  grpc::TemplatedGenericStub<grpc::ByteBuffer, v1::RunResponse> stub(channel);
  stub.PrepareBidiStreamingCall(&stream->context_, "/kiln.v1.Kiln/Run", {}, stream.get());
  return stream;
}

void RunStream::Start(std::string first) {
  // The hold is given back when nothing more is read or written: until then writes may begin on any
  // thread.
  AddHold();
  out_ = ToBuffer(std::move(first));
  StartRead(&in_);
  StartWrite(&out_);
  StartCall();
}

bool RunStream::ClaimWrite() {
  absl::MutexLock lock(&mu_);
  if (writing_ || broken_) return false;
  writing_ = true;
  return true;
}

void RunStream::Write(std::string message) {
  // Held so that the call outlives StartWrite, even if the write and the call end meanwhile.
  AddHold();
  out_ = ToBuffer(std::move(message));
  StartWrite(&out_);
  RemoveHold();
}

void RunStream::Unclaim() {
  bool is_over;
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    is_over = broken_;
  }
  if (is_over) RemoveHold();
}

void RunStream::Cancel() { context_.TryCancel(); }

void RunStream::OnReadDone(bool ok) {
  if (ok) {
    owner_->OnMessage(*this, in_);
    StartRead(&in_);
    return;
  }
  bool is_over;
  {
    absl::MutexLock lock(&mu_);
    broken_ = true;
    is_over = !writing_;
  }
  if (is_over) RemoveHold();
}

void RunStream::OnWriteDone(bool ok) {
  out_.Clear();
  Unclaim();
  if (ok) owner_->OnWritable(*this);  // Else the stream has broken, and reading says so as well.
}

void RunStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<RunStream> self = std::move(self_);
  owner_->OnEnd(*this, status);
}

}  // namespace kiln::client
