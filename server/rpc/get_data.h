// GetData: bytes of a CopyOut, sent from where they lie.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "server/executor/transfers.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// One call. Owned by itself until OnDone; then by who is calling it at that moment.
class GetData final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                      public TransferStream,
                      public std::enable_shared_from_this<GetData> {
 public:
  // All are borrowed until OnDone.
  static GetData* Start(grpc::CallbackServerContext& context, const grpc::ByteBuffer& request,
                        SessionManager& sessions);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void OnReady() override;
  void OnEnd(const absl::Status& why) override;

 private:
  GetData(grpc::CallbackServerContext& context, uint64_t chunk_bytes)
      : context_(context), chunk_bytes_(chunk_bytes) {}

  absl::Status Begin(const grpc::ByteBuffer& request, SessionManager& sessions);
  // Once the command is there.
  void SendFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  grpc::CallbackServerContext& context_;
  const uint64_t chunk_bytes_;
  std::shared_ptr<Session> session_;
  grpc::ByteBuffer message_;  // gRPC's while a write is under way.

  absl::Mutex mu_;  // gRPC's calls are made with it: none of them calls back on this thread.
  std::shared_ptr<GetData> self_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Outgoing> outgoing_ ABSL_GUARDED_BY(mu_);
  uint64_t at_ ABSL_GUARDED_BY(mu_) = 0;  // Bytes from the start of the transfer.
  bool is_ready_ ABSL_GUARDED_BY(mu_) = false;
  bool has_begun_ ABSL_GUARDED_BY(mu_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;  // Finish has been called.
  bool is_sent_ ABSL_GUARDED_BY(mu_) = false;    // To the end.
};

}  // namespace kiln::server
