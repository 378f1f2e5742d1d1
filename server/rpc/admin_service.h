// The service for operators.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"

#include "core/runtime/engine.h"
#include "kiln/v1/admin.grpc.pb.h"
#include "server/blobs/blob_store.h"
#include "server/ops/metrics.h"
#include "server/ops/profile.h"
#include "server/server_info.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// What it tells of. Borrowed.
struct AdminSources {
  SessionManager* sessions;
  const ServerDescription* description;
  runtime::Engine* engine;
  Metrics* metrics;
  Profiler* profiler;
  BlobStore* blobs;  // May be null.
  // Asks the process to drain and exit; the default deadline if it is 0. Returns at once.
  std::function<void(absl::Duration deadline)> drain;
};

// Thread-safe. Must outlive its gRPC server.
class AdminService final : public pb::Admin::CallbackService {
 public:
  explicit AdminService(AdminSources sources);
  ~AdminService() override;

  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context,
                                         const pb::ListSessionsRequest* request,
                                         pb::ListSessionsResponse* response) override;
  grpc::ServerUnaryReactor* EndSession(grpc::CallbackServerContext* context,
                                       const pb::EndSessionRequest* request,
                                       pb::EndSessionResponse* response) override;
  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext* context,
                                     const pb::GetStatsRequest* request,
                                     pb::Stats* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const pb::DrainRequest* request,
                                  pb::DrainResponse* response) override;
  grpc::ServerWriteReactor<pb::ProfileEvents>* Profile(grpc::CallbackServerContext* context,
                                                       const pb::ProfileRequest* request) override;

 private:
  const AdminSources sources_;
  const absl::Time started_ = absl::Now();
  // Waits for events; one thread for all profiles that are taken, so few at a time.
  WorkPool pool_;
};

}  // namespace kiln::server
