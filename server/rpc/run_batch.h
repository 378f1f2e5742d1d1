// Commands in one unary call: Kiln.RunBatch.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "kiln/v1/kiln.pb.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// One call. Held by itself until gRPC is done with it, and by the session while it waits. Thread-safe.
class RunBatch final : public grpc::ServerUnaryReactor,
                       public ResultSink,
                       public std::enable_shared_from_this<RunBatch> {
 public:
  // The first three are borrowed until OnDone; the manager for ever.
  static RunBatch* Start(grpc::CallbackServerContext& context, const pb::RunBatchRequest& request,
                         pb::RunBatchResponse& response, SessionManager& sessions);

  void OnCancel() override;
  void OnDone() override;

  void OnProgress() override;
  void OnDetached(const absl::Status& why) override;

 private:
  explicit RunBatch(pb::RunBatchResponse& response) : response_(response) {}
  absl::Status Begin(grpc::CallbackServerContext& context, const pb::RunBatchRequest& request,
                     SessionManager& sessions);
  void End(const absl::Status& status);

  pb::RunBatchResponse& response_;
  std::shared_ptr<RunBatch> self_;    // Until OnDone.
  std::shared_ptr<Session> session_;  // Written before Watch.
  uint64_t first_seq_ = 0, last_seq_ = 0;

  absl::Mutex mu_;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace kiln::server
