// One client's session: its commands in order, its results until they are acknowledged, its lease.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "kiln/v1/admin.pb.h"
#include "kiln/v1/kiln.pb.h"
#include "server/executor/executor.h"
#include "server/limits.h"
#include "server/observer.h"
#include "server/session/command_queue.h"
#include "server/work_pool.h"

namespace kiln::server {

// Who is told when there are results: an open Run stream, or a RunBatch call. Thread-safe.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  // There may be new results, or room for new commands. Called on any thread, often, without locks of
  // the session; must not block.
  virtual void OnProgress() = 0;
  // The session has ended, or another stream has taken over; nothing is called after it.
  virtual void OnDetached(const absl::Status& why) = 0;
};

struct SessionOptions {
  uint64_t id = 0;
  std::string token;
  std::string client_name, peer;
  absl::Duration lease;
  SessionLimits limits;
  WorkPool* pool = nullptr;  // Borrowed. For long work.
  // Bytes that all sessions have queued. Borrowed.
  std::atomic<int64_t>* total_queued_bytes = nullptr;
  Observer* observer = nullptr;  // Borrowed.
};

// Thread-safe. Held by shared_ptr: by its manager until it ends, and by what is under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionOptions options, std::unique_ptr<Executor> executor);
  ~Session();

  uint64_t id() const { return options_.id; }
  const std::string& token() const { return options_.token; }
  absl::Duration lease() const { return options_.lease; }
  const SessionLimits& limits() const { return options_.limits; }
  Executor& executor() { return *executor_; }

  // ** the lease **
  void Touch();
  absl::Time expires() const;

  // ** commands **
  // Begins those that have not been seen, in order, as far as they need not wait, on this thread;
  // the others later on others. Emptied. InvalidArgument: numbers that do not rise; nothing is
  // applied then. FailedPrecondition: the session has ended.
  absl::Status Post(google::protobuf::RepeatedPtrField<pb::Command>& commands);
  // Whether more commands should wait (limits on what is queued).
  bool is_full() const;
  // Whether it is full and can't go on until the client acknowledges results.
  bool is_stuck() const;
  // The client has all results up to this number.
  void Received(uint64_t received_seq);

  // ** results **
  // The stream that is told of results from now on; the one before is detached with Aborted.
  // Returns the last number that has arrived. FailedPrecondition: the session has ended.
  absl::StatusOr<uint64_t> Attach(std::shared_ptr<ResultSink> sink);
  // Besides the stream: told until it is detached. For calls that wait for commands.
  absl::Status Watch(std::shared_ptr<ResultSink> sink);
  void Detach(const ResultSink* sink);
  struct Progress {
    uint64_t acked_seq = 0;
    uint64_t sent_seq = 0;  // The last result that was copied.
    bool has_more = false;  // Results that did not fit.
  };
  // Appends results with numbers in (after, up_to] to `to`, some `max_bytes` of them.
  Progress CopyResults(uint64_t after, uint64_t up_to, int64_t max_bytes,
                       google::protobuf::RepeatedPtrField<pb::Result>& to) const;
  bool is_idle() const;  // No command is under way.

  // Ends it: what is queued or runs fails with `why`, streams are detached, everything is freed.
  // Nothing the second time.
  void End(const absl::Status& why);

  pb::SessionInfo Describe() const;

 private:
  // Begins commands until one has to wait. At most one thread is in it.
  void Pump() ABSL_LOCKS_EXCLUDED(mu_);
  void Begin(CommandEntry& entry, const std::optional<absl::Status>& cancelled);
  // What a wait of the executor ends with.
  void Resume();
  void Finish(CommandEntry& entry, CommandOutcome outcome);
  void Cancel(const pb::Cancel& cancel, uint64_t seq);
  void TellSinks() ABSL_LOCKS_EXCLUDED(mu_);
  bool MayBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Brings the count of all sessions up to date.
  void CountQueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SessionOptions options_;
  const absl::Time opened_ = absl::Now();
  std::atomic<int64_t> touched_ns_;
  std::unique_ptr<Executor> executor_;

  mutable absl::Mutex mu_;
  CommandQueue queue_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<ResultSink> stream_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<ResultSink>> watchers_ ABSL_GUARDED_BY(mu_);
  int64_t counted_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // In the count of all sessions.
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;       // A thread is in Pump.
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;       // For the executor's Resume.
  bool has_news_ ABSL_GUARDED_BY(mu_) = false;      // That sinks have not been told of.
  int64_t num_done_ ABSL_GUARDED_BY(mu_) = 0, num_failed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace kiln::server
