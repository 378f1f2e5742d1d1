// PutData: bytes of a CopyIn, written to its buffer as they come.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "server/executor/transfers.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// One call. Owned by itself until OnDone; then by who is calling it at that moment.
class PutData final : public grpc::ServerReadReactor<grpc::ByteBuffer>,
                      public TransferStream,
                      public std::enable_shared_from_this<PutData> {
 public:
  // Both are borrowed until OnDone.
  static PutData* Start(SessionManager& sessions, grpc::ByteBuffer* response);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void OnReady() override;
  void OnEnd(const absl::Status& why) override;

 private:
  PutData(SessionManager& sessions, grpc::ByteBuffer* response)
      : sessions_(sessions), response_(*response) {}

  absl::Status TakeHeader();
  // Whether that was all.
  absl::StatusOr<bool> TakeChunk();
  // Once the command is there: reads the first chunk.
  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  SessionManager& sessions_;
  grpc::ByteBuffer& response_;
  grpc::ByteBuffer message_;  // gRPC's while a read is under way.
  std::shared_ptr<Session> session_;
  std::unique_ptr<Incoming> incoming_;  // Confined to reads; made under `mu_`.

  absl::Mutex mu_;  // gRPC's calls are made with it: none of them calls back on this thread.
  std::shared_ptr<PutData> self_ ABSL_GUARDED_BY(mu_);
  bool is_ready_ ABSL_GUARDED_BY(mu_) = false;
  bool has_begun_ ABSL_GUARDED_BY(mu_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
  grpc::Alarm header_alarm_;
};

}  // namespace kiln::server
