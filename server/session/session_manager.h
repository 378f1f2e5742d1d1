// All sessions of the daemon: opening, finding, ending them when their lease is over.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "kiln/v1/kiln.pb.h"
#include "server/executor/executor.h"
#include "server/limits.h"
#include "server/session/session.h"

namespace kiln::server {

// Thread-safe. Ends all sessions when it is destroyed.
class SessionManager {
 public:
  SessionManager(ExecutorServices services, SessionLimits limits);
  ~SessionManager();
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;

  // Unavailable: draining. ResourceExhausted: too many. Unimplemented: what the request asks for.
  absl::StatusOr<std::shared_ptr<Session>> Open(const pb::OpenSessionRequest& request,
                                                std::string peer);
  // The session of a reference; extends its lease. NotFound, in the same words for an unknown id and a
  // wrong token.
  absl::StatusOr<std::shared_ptr<Session>> Find(const pb::SessionRef& ref);
  // Ends a session, for operators. NotFound.
  absl::Status End(uint64_t id, const absl::Status& why);
  std::vector<std::shared_ptr<Session>> List() const;  // By id.

  // No new sessions from now on.
  void Drain();
  bool is_draining() const;
  // Blocks until there is no session, or the deadline. Whether there is none.
  bool AwaitNoSessions(absl::Time deadline) const;
  void EndAll(const absl::Status& why);

  const SessionLimits& limits() const { return limits_; }

 private:
  void Reap();  // The thread that ends what has run out.

  const ExecutorServices services_;
  const SessionLimits limits_;
  std::atomic<int64_t> total_queued_bytes_ = 0;  // Of all sessions.
  mutable absl::Mutex mu_;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::map<uint64_t, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mu_);
  std::thread reaper_;  // Last: it uses the others.
};

}  // namespace kiln::server
