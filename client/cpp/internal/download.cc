#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "client/cpp/internal/bulk.h"
#include "client/cpp/internal/channel.h"
#include "client/cpp/internal/chunk.h"
#include "client/cpp/internal/run_stream.h"

namespace kiln::client {
namespace {

class Download;

// One try of a download. Keeps itself until the call is over.
class DownloadCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  DownloadCall(std::shared_ptr<Download> download, const std::shared_ptr<grpc::Channel>& channel);
  static void Start(const std::shared_ptr<DownloadCall>& call, std::string request);
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::shared_ptr<Download> download_;
  std::shared_ptr<DownloadCall> self_;
  grpc::ClientContext context_;
  grpc::ByteBuffer out_, in_;
  absl::Status error_;  // In what has come.
};

// Thread-safe; Take is called by one call at a time.
class Download final : public BulkCall, public std::enable_shared_from_this<Download> {
 public:
  Download(std::shared_ptr<Core> core, DownloadOptions options)
      : core_(std::move(core)), options_(std::move(options)) {}

  void Begin() override {
    const absl::Status added = core_->AddCall(shared_from_this());
    if (!added.ok()) {
      options_.done(added);
    } else {
      Try();
    }
  }

  void Cancel(const absl::Status& why) override {
    std::shared_ptr<DownloadCall> call;
    {
      absl::MutexLock lock(&mu_);
      if (cancelled_.ok()) cancelled_ = why;
      call = call_;
    }
    if (call != nullptr) call->Cancel();
  }

  // A message that has come.
  absl::Status Take(const grpc::ByteBuffer& message) {
    const std::optional<ChunkView> chunk = ParseChunk(message);
    if (!chunk.has_value() || chunk->offset != received_ ||
        chunk->size > options_.bytes.size() - received_) {
      return absl::DataLossError(absl::StrCat("transfer ", options_.transfer,
                                              ": the server has sent something else than the bytes "
                                              "from ",
                                              received_, " on"));
    }
    chunk->CopyTo(options_.bytes.data() + received_);
    received_ += chunk->size;
    if (options_.progress != nullptr) options_.progress(received_, options_.bytes.size());
    return absl::OkStatus();
  }

  void OnCallEnd(const grpc::Status& status, const absl::Status& error) {
    bool again = false;
    {
      absl::MutexLock lock(&mu_);
      call_ = nullptr;
      again = cancelled_.ok() && error.ok() && IsConnectionFailure(status);
    }
    // Nothing left to ask for: only the end of the call got lost.
    if (again && received_ == options_.bytes.size() && received_ > 0) return End(absl::OkStatus());
    if (again) {
      core_->timer().After(absl::Milliseconds(50), [self = shared_from_this()] { self->Try(); });
      return;
    }
    if (!error.ok() || !status.ok()) return End(error.ok() ? FromGrpc(status) : error);
    if (received_ == options_.bytes.size()) return End(absl::OkStatus());
    End(absl::DataLossError(absl::StrCat("transfer ", options_.transfer, ": ", received_, " of ",
                                         options_.bytes.size(), " bytes have come")));
  }

 private:
  void Try() {
    const std::shared_ptr<grpc::Channel> channel = core_->channel();
    std::shared_ptr<DownloadCall> call;
    {
      absl::MutexLock lock(&mu_);
      if (cancelled_.ok() && channel != nullptr) {
        call = call_ = std::make_shared<DownloadCall>(shared_from_this(), channel);
      }
    }
    if (call == nullptr) return End(core_->status());
    v1::GetDataRequest request;
    *request.mutable_session() = core_->ref();
    request.set_transfer(options_.transfer);
    request.set_offset(received_);
    DownloadCall::Start(call, request.SerializeAsString());
  }

  void End(absl::Status status) {
    {
      absl::MutexLock lock(&mu_);
      if (!cancelled_.ok()) status = cancelled_;
    }
    options_.done(std::move(status));
    core_->RemoveCall(shared_from_this());
  }

  const std::shared_ptr<Core> core_;
  const DownloadOptions options_;
  size_t received_ = 0;  // Of the call under way.
  absl::Mutex mu_;
  std::shared_ptr<DownloadCall> call_ ABSL_GUARDED_BY(mu_);
  absl::Status cancelled_ ABSL_GUARDED_BY(mu_);
};

DownloadCall::DownloadCall(std::shared_ptr<Download> download,
                           const std::shared_ptr<grpc::Channel>& channel)
    : download_(std::move(download)) {
  context_.set_wait_for_ready(true);
  grpc::GenericStub stub(channel);
  stub.PrepareBidiStreamingCall(&context_, "/kiln.v1.Kiln/GetData", {}, this);
}

void DownloadCall::Start(const std::shared_ptr<DownloadCall>& call, std::string request) {
  call->self_ = call;
  call->out_ = ToBuffer(std::move(request));
  call->StartRead(&call->in_);
  call->StartWriteLast(&call->out_, {});
  call->StartCall();
}

void DownloadCall::OnReadDone(bool ok) {
  if (!ok) return;
  if (error_.ok()) error_ = download_->Take(in_);
  in_.Clear();
  if (!error_.ok()) Cancel();
  StartRead(&in_);
}

void DownloadCall::OnDone(const grpc::Status& status) {
  const std::shared_ptr<DownloadCall> self = std::move(self_);
  download_->OnCallEnd(status, error_);
}

}  // namespace

std::shared_ptr<BulkCall> MakeDownload(const std::shared_ptr<Core>& core, DownloadOptions options) {
  return std::make_shared<Download>(core->shared_from_this(), std::move(options));
}

}  // namespace kiln::client
