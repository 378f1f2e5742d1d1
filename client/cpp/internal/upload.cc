#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "client/cpp/internal/bulk.h"
#include "client/cpp/internal/channel.h"
#include "client/cpp/internal/chunk.h"
#include "client/cpp/internal/run_stream.h"

namespace kiln::client {
namespace {

class Upload;

// One try of an upload. Keeps itself until the call is over.
class UploadCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  UploadCall(std::shared_ptr<Upload> upload, const std::shared_ptr<grpc::Channel>& channel);
  static void Start(const std::shared_ptr<UploadCall>& call);
  void Cancel() { context_.TryCancel(); }

 private:
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void WriteNext();

  const std::shared_ptr<Upload> upload_;
  std::shared_ptr<UploadCall> self_;
  grpc::ClientContext context_;
  grpc::ByteBuffer out_, in_;
  uint64_t offset_;  // What has been written.
};

// Thread-safe. Ends when its last call has ended and gRPC holds none of the bytes any more: a
// message that was written may still lie, by reference, in the buffers of the connection.
class Upload final : public BulkCall, public std::enable_shared_from_this<Upload> {
 public:
  Upload(std::shared_ptr<Core> core, UploadOptions options)
      : core_(std::move(core)), options_(std::move(options)) {}

  const UploadOptions& options() const { return options_; }
  size_t chunk_bytes() const {
    return std::clamp<size_t>(core_->limits().chunk_bytes(), 1 << 12, 1 << 24);
  }

  void Begin() override {
    const absl::Status added = core_->AddCall(shared_from_this());
    if (!added.ok()) {
      options_.done(added, {});
    } else {
      Try();
    }
  }

  void Cancel(const absl::Status& why) override {
    std::shared_ptr<UploadCall> call;
    {
      absl::MutexLock lock(&mu_);
      if (cancelled_.ok()) cancelled_ = why;
      call = call_;
    }
    if (call != nullptr) call->Cancel();
  }

  // A piece of the bytes, as gRPC is to hold it.
  grpc::Slice Piece(uint64_t offset, size_t size) {
    {
      absl::MutexLock lock(&mu_);
      ++pieces_;
    }
    // gRPC does not write to slices that it sends.
    return grpc::Slice(
        const_cast<std::byte*>(options_.bytes.data() + offset), size,
        [](void* self) {
          const auto upload = std::move(*static_cast<std::shared_ptr<Upload>*>(self));
          delete static_cast<std::shared_ptr<Upload>*>(self);
          upload->OnPieceReleased();
        },
        new std::shared_ptr<Upload>(shared_from_this()));
  }

  void OnCallEnd(const grpc::Status& status, const grpc::ByteBuffer& answer) {
    bool again = false;
    {
      absl::MutexLock lock(&mu_);
      call_ = nullptr;
      again = options_.resumes && cancelled_.ok() && IsConnectionFailure(status);
    }
    if (again) {
      core_->timer().After(absl::Milliseconds(50), [self = shared_from_this()] { self->Try(); });
      return;
    }
    std::string text;
    if (std::vector<grpc::Slice> slices; status.ok() && answer.Dump(&slices).ok()) {
      for (const grpc::Slice& s : slices) text.append(s.begin(), s.end());
    }
    End(FromGrpc(status), std::move(text));
  }

 private:
  void Try() {
    const std::shared_ptr<grpc::Channel> channel = core_->channel();
    std::shared_ptr<UploadCall> call;
    {
      absl::MutexLock lock(&mu_);
      if (cancelled_.ok() && channel != nullptr) {
        call = call_ = std::make_shared<UploadCall>(shared_from_this(), channel);
      }
    }
    if (call == nullptr) return End(core_->status(), {});
    UploadCall::Start(call);
  }

  void End(const absl::Status& status, std::string answer) {
    {
      absl::MutexLock lock(&mu_);
      ended_ = true;
      status_ = cancelled_.ok() ? status : cancelled_;
      answer_ = std::move(answer);
      if (pieces_ > 0) return;
    }
    Finish();
  }

  void OnPieceReleased() {
    {
      absl::MutexLock lock(&mu_);
      if (--pieces_ > 0 || !ended_) return;
    }
    Finish();
  }

  void Finish() {
    options_.done(status_, answer_);
    core_->RemoveCall(shared_from_this());
  }

  const std::shared_ptr<Core> core_;
  const UploadOptions options_;
  absl::Mutex mu_;
  std::shared_ptr<UploadCall> call_ ABSL_GUARDED_BY(mu_);
  absl::Status cancelled_ ABSL_GUARDED_BY(mu_);
  int64_t pieces_ ABSL_GUARDED_BY(mu_) = 0;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_;  // Constant once ended_.
  std::string answer_;
};

UploadCall::UploadCall(std::shared_ptr<Upload> upload,
                       const std::shared_ptr<grpc::Channel>& channel)
    : upload_(std::move(upload)), offset_(upload_->options().offset) {
  context_.set_wait_for_ready(true);
  grpc::GenericStub stub(channel);
  stub.PrepareBidiStreamingCall(&context_, upload_->options().method, {}, this);
}

void UploadCall::Start(const std::shared_ptr<UploadCall>& call) {
  call->self_ = call;
  call->out_ = ToBuffer(call->upload_->options().header(call->offset_));
  call->StartRead(&call->in_);
  if (call->offset_ == call->upload_->options().bytes.size()) {
    call->StartWriteLast(&call->out_, {});
  } else {
    call->StartWrite(&call->out_);
  }
  call->StartCall();
}

void UploadCall::OnWriteDone(bool ok) {
  out_.Clear();
  if (!ok) return;  // The server has answered already, or the call has broken: OnDone tells.
  const UploadOptions& options = upload_->options();
  if (options.progress != nullptr) options.progress(offset_, options.bytes.size());
  if (offset_ < options.bytes.size()) WriteNext();
}

void UploadCall::WriteNext() {
  const size_t size = upload_->options().bytes.size();
  const size_t n = std::min<size_t>(upload_->chunk_bytes(), size - offset_);
  const grpc::Slice slices[2] = {ChunkHead(offset_, n), upload_->Piece(offset_, n)};
  out_ = grpc::ByteBuffer(slices, 2);
  offset_ += n;
  if (offset_ == size) {
    StartWriteLast(&out_, {});
  } else {
    StartWrite(&out_);
  }
}

void UploadCall::OnDone(const grpc::Status& status) {
  const std::shared_ptr<UploadCall> self = std::move(self_);
  out_.Clear();
  upload_->OnCallEnd(status, in_);
}

}  // namespace

std::shared_ptr<BulkCall> MakeUpload(const std::shared_ptr<Core>& core, UploadOptions options) {
  return std::make_shared<Upload>(core->shared_from_this(), std::move(options));
}

}  // namespace kiln::client
