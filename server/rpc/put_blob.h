// PutBlob: content for the blob store. Writing and hashing are done on its threads.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/blobs/blob_store.h"
#include "server/rpc/raw_message.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// One call. Owned by itself until OnDone; then by the work that is still under way. At most two
// messages are held: one that is written while the next is read.
class PutBlob final : public grpc::ServerReadReactor<grpc::ByteBuffer>,
                      public std::enable_shared_from_this<PutBlob> {
 public:
  // All are borrowed until OnDone; the store, which may be null, until its work is done.
  static PutBlob* Start(SessionManager& sessions, BlobStore* store, grpc::ByteBuffer* response);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  PutBlob(SessionManager& sessions, BlobStore* store, grpc::ByteBuffer* response)
      : sessions_(sessions), store_(store), response_(*response) {}

  absl::Status TakeHeader(const RawMessage& raw);
  // Work of the store's threads, one piece at a time.
  void Work(std::function<absl::Status()> work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WorkDone(const absl::Status& status);
  void WorkOn(RawMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WriteChunk(const RawMessage& message);
  absl::Status FinishUpload();

  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WatchForStall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckForStall();
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  SessionManager& sessions_;
  BlobStore* const store_;
  grpc::ByteBuffer& response_;
  grpc::ByteBuffer message_;  // gRPC's while a read is under way.
  std::shared_ptr<Session> session_;
  std::unique_ptr<BlobUpload> upload_;  // Confined to the work.

  absl::Mutex mu_;  // gRPC's calls are made with it: none of them calls back on this thread.
  std::shared_ptr<PutBlob> self_ ABSL_GUARDED_BY(mu_);
  std::optional<RawMessage> waiting_ ABSL_GUARDED_BY(mu_);  // For the work to be done.
  bool is_working_ ABSL_GUARDED_BY(mu_) = false;
  bool is_at_end_ ABSL_GUARDED_BY(mu_) = false;  // The client sends no more.
  bool was_there_ ABSL_GUARDED_BY(mu_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time progress_ ABSL_GUARDED_BY(mu_);
  grpc::Alarm alarm_;
};

}  // namespace kiln::server
