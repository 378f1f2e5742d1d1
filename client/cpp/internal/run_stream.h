// One call of Kiln.Run: messages out and in, until it breaks.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "kiln/v1/kiln.pb.h"

namespace kiln::client {

class RunStream;

// Called on threads of gRPC, each message and the end once, in this order; concurrent with
// OnWritable. Without locks held.
class RunStreamOwner {
 public:
  virtual ~RunStreamOwner() = default;
  virtual void OnMessage(RunStream& stream, v1::RunResponse& response) = 0;
  // A write is over: there may be another.
  virtual void OnWritable(RunStream& stream) = 0;
  virtual void OnEnd(RunStream& stream, const grpc::Status& status) = 0;
};

// Thread-safe. Keeps itself and its owner until the call is over.
class RunStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, v1::RunResponse> {
 public:
  static std::shared_ptr<RunStream> Create(std::shared_ptr<RunStreamOwner> owner,
                                           const std::shared_ptr<grpc::Channel>& channel);

  // Begins the call with this first message. Until then nothing else can be written.
  void Start(std::string first);
  // Whether Write may be called: nothing is being written, the call is not over. Claims it, if so:
  // the caller then calls Write, or Unclaim.
  bool ClaimWrite();
  void Write(std::string message);
  void Unclaim();
  // The call ends soon, with CANCELLED unless it has ended otherwise.
  void Cancel();

  // The server has said that the stream is open. Of the owner.
  bool is_open = false;

 private:
  explicit RunStream(std::shared_ptr<RunStreamOwner> owner) : owner_(std::move(owner)) {}
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::shared_ptr<RunStreamOwner> owner_;
  std::shared_ptr<RunStream> self_;  // Until OnDone.
  grpc::ClientContext context_;
  grpc::ByteBuffer out_;
  v1::RunResponse in_;

  absl::Mutex mu_;
  bool writing_ ABSL_GUARDED_BY(mu_) = true;  // From the first message on.
  bool broken_ ABSL_GUARDED_BY(mu_) = false;  // Nothing more can be read.
};

// `message` as a buffer for gRPC, without a copy.
grpc::ByteBuffer ToBuffer(std::string message);

}  // namespace kiln::client
