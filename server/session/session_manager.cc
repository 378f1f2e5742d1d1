#include "server/session/session_manager.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "server/secret.h"

namespace kiln::server {
namespace {

// How often leases and transfers are looked at. A session ends at most so much after its lease.
constexpr absl::Duration kReapInterval = absl::Milliseconds(200);
constexpr size_t kMaxNameBytes = 256;

absl::Status NoSession() {
  return absl::NotFoundError("there is no such session, or its lease has run out");
}

}  // namespace

SessionManager::SessionManager(ExecutorServices services, SessionLimits limits)
    : services_(std::move(services)), limits_(limits), reaper_([this] { Reap(); }) {}

SessionManager::~SessionManager() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = draining_ = true;
  }
  reaper_.join();
  EndAll(absl::UnavailableError("the server ends"));
}

absl::StatusOr<std::shared_ptr<Session>> SessionManager::Open(const pb::OpenSessionRequest& request,
                                                              std::string peer) {
  if (request.fast_math()) {
    return absl::UnimplementedError("fast_math: this server computes exactly only");
  }
  SessionOptions options = {.token = RandomBytes(32),
                            .client_name = request.client_name().substr(0, kMaxNameBytes),
                            .peer = std::move(peer),
                            .lease = limits_.lease,
                            .limits = limits_,
                            .pool = services_.pool,
                            .total_queued_bytes = &total_queued_bytes_,
                            .observer = services_.observer};
  if (request.lease_ms() != 0) {
    const auto ms = static_cast<int64_t>(std::min<uint64_t>(request.lease_ms(), 1'000'000'000));
    options.lease = std::clamp(absl::Milliseconds(ms), limits_.min_lease, limits_.max_lease);
  }
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mu_);
    if (draining_) return absl::UnavailableError("the server drains: it takes no new sessions");
    if (static_cast<int64_t>(sessions_.size()) >= limits_.max_sessions) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", sessions_.size(), " sessions, as many as the server takes"));
    }
    options.id = ++last_id_;
    auto executor = std::make_unique<Executor>(services_, limits_, options.id);
    session = std::make_shared<Session>(std::move(options), std::move(executor));
    sessions_[session->id()] = session;
  }
  if (services_.observer != nullptr) {
    services_.observer->OnSessionOpened(session->id(), request.client_name());
  }
  return session;
}

absl::StatusOr<std::shared_ptr<Session>> SessionManager::Find(const pb::SessionRef& ref) {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mu_);
    const auto found = sessions_.find(ref.id());
    if (found != sessions_.end()) session = found->second;
  }
  if (session == nullptr || !EqualSecrets(session->token(), ref.token())) return NoSession();
  session->Touch();
  return session;
}

absl::Status SessionManager::End(uint64_t id, const absl::Status& why) {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mu_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) {
      return absl::NotFoundError(absl::StrCat("there is no session ", id));
    }
    session = std::move(found->second);
    sessions_.erase(found);
  }
  session->End(why);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<Session>> SessionManager::List() const {
  std::vector<std::shared_ptr<Session>> sessions;
  absl::MutexLock lock(&mu_);
  for (const auto& [id, session] : sessions_) sessions.push_back(session);
  return sessions;
}

void SessionManager::Drain() {
  absl::MutexLock lock(&mu_);
  draining_ = true;
}

bool SessionManager::is_draining() const {
  absl::MutexLock lock(&mu_);
  return draining_;
}

bool SessionManager::AwaitNoSessions(absl::Time deadline) const {
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return sessions_.empty(); };
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithDeadline(absl::Condition(&none), deadline);
}

void SessionManager::EndAll(const absl::Status& why) {
  for (const auto& session : List()) (void)End(session->id(), why);  // NotFound: it has just ended.
}

void SessionManager::Reap() {
  const auto ending = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ending_; };
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      if (mu_.AwaitWithTimeout(absl::Condition(&ending), kReapInterval)) return;
    }
    const absl::Time now = absl::Now();
    for (const auto& session : List()) {
      session->executor().transfers().Expire();
      if (session->expires() > now) continue;
      // NotFound: somebody else has just ended it.
      (void)End(session->id(),
                absl::DeadlineExceededError(absl::StrCat(
                    "its lease of ", absl::FormatDuration(session->lease()), " has run out")));
    }
  }
}

}  // namespace kiln::server
