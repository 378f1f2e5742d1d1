// The control pipeline of a session: Kiln.Run.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "kiln/v1/kiln.pb.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// One stream. Held by itself until gRPC is done with it, and by the session while it is attached.
// Thread-safe.
class RunStream final : public grpc::ServerBidiReactor<pb::RunRequest, pb::RunResponse>,
                        public ResultSink,
                        public std::enable_shared_from_this<RunStream> {
 public:
  // The manager is borrowed.
  static RunStream* Start(SessionManager& sessions);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void OnProgress() override;
  void OnDetached(const absl::Status& why) override;

 private:
  explicit RunStream(SessionManager& sessions) : sessions_(sessions) {}

  // What the request that was read asks for.
  absl::Status Handle();
  absl::Status Open();
  // Reads on, unless the session has enough.
  void ReadOn();
  // Writes what there is to be told, unless a write is under way; ends the stream if all is done.
  void WriteOn();
  void End(const absl::Status& status);

  SessionManager& sessions_;
  std::shared_ptr<RunStream> self_;   // Until OnDone.
  pb::RunRequest request_;            // Being read, or handled.
  std::shared_ptr<Session> session_;  // Written by the first OnReadDone; others begin after it.

  absl::Mutex mu_;
  pb::RunResponse response_;                       // Being written.
  bool is_open_ ABSL_GUARDED_BY(mu_) = false;      // There is a session.
  bool has_opened_ ABSL_GUARDED_BY(mu_) = false;   // response.opened is to be sent.
  uint64_t applied_seq_ ABSL_GUARDED_BY(mu_) = 0;  // What it says.
  uint64_t sent_seq_ ABSL_GUARDED_BY(mu_) = 0;     // Results up to it are sent, or received before.
  uint64_t acked_seq_ ABSL_GUARDED_BY(mu_) = 0;    // As last sent.
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  bool is_paused_ ABSL_GUARDED_BY(mu_) = false;        // Does not read until there is room.
  bool has_half_closed_ ABSL_GUARDED_BY(mu_) = false;  // The client sends no more.
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;        // Finish was called.
};

}  // namespace kiln::server
