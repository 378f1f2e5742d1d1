// A session's connection: its commands in order, across broken streams, and its signs of life.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "client/cpp/internal/command_log.h"
#include "client/cpp/internal/known_results.h"
#include "client/cpp/internal/run_stream.h"
#include "client/cpp/internal/seen_graphs.h"
#include "client/cpp/internal/timer.h"
#include "client/cpp/options.h"
#include "kiln/v1/kiln.grpc.pb.h"

namespace kiln::client {

// A call that carries bulk bytes. Thread-safe.
class BulkCall {
 public:
  virtual ~BulkCall() = default;
  // Once.
  virtual void Begin() = 0;
  // It is to end soon, with `why`.
  virtual void Cancel(const absl::Status& why) = 0;
};

// Thread-safe. Users hold it by Connect's pointer, the last copy of which closes the session.
class Core final : public RunStreamOwner, public std::enable_shared_from_this<Core> {
 public:
  static absl::StatusOr<std::shared_ptr<Core>> Connect(const std::string& address,
                                                       const SessionOptions& options);
  ~Core() override = default;

  const std::string& address() const { return address_; }
  const v1::ServerInfo& info() const { return info_; }
  const v1::Limits& limits() const { return info_.limits(); }
  const v1::SessionRef& ref() const { return ref_; }
  Timer& timer() { return timer_; }
  SeenGraphs& seen_graphs() { return seen_graphs_; }
  KnownResults& known_results() { return known_results_; }
  // Held while tensors are realized, so that what several threads ask for is computed once.
  absl::Mutex& realizing() { return realizing_; }

  // A number that no buffer, graph, event or transfer of the session has.
  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  // ** commands **
  // Sends `command`, whose number is set here, as soon as the stream can take it, unless this thread
  // holds commands back. May wait for room (SessionOptions::max_unacked_bytes). `reply` may be null:
  // then it never waits.
  void Submit(const v1::Command& command, std::shared_ptr<Reply> reply);
  // Sends what is there to send, if nothing is being sent.
  void Kick();
  // Submit, without waiting for room, unless another command has been given since `seq`. Returns
  // whether it was done.
  bool SubmitAfter(uint64_t seq, const v1::Command& command, std::shared_ptr<Reply> reply);

  // ** calls beside the stream **
  // Null when the session has ended.
  std::shared_ptr<grpc::Channel> channel();
  absl::Status AddCall(std::shared_ptr<BulkCall> call);  // Error: why the session has ended.
  void RemoveCall(const std::shared_ptr<BulkCall>& call);

  // Waits for all commands, then frees all that the session has.
  absl::Status Close();
  // Why no more commands are taken. OK: they are.
  absl::Status status();

 private:
  friend class KeepAliveCall;
  Core(std::string address, std::string target, const SessionOptions& options);

  absl::Status Open();
  void OpenStream();
  void OnMessage(RunStream& stream, v1::RunResponse& response) override;
  void OnWritable(RunStream& stream) override;
  void OnEnd(RunStream& stream, const grpc::Status& status) override;
  // A few times in a lease: signs of life, and whether it is time to give up.
  void Tick();
  void OnKeptAlive(const grpc::Status& status, absl::Time started);
  // Ends everything with `why`. Nothing the second time.
  void Fail(const absl::Status& why);
  // Ends the session without waiting for its commands, and waits until nothing of the caller's
  // memory is in use.
  void Shutdown();
  bool HasRoom(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string NextMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string address_, target_;
  const SessionOptions options_;
  // Set by Open, constant afterwards.
  v1::ServerInfo info_;
  v1::SessionRef ref_;
  absl::Duration lease_, give_up_after_;
  size_t ack_every_bytes_ = 0;

  std::atomic<uint64_t> next_id_ = 1;
  SeenGraphs seen_graphs_;
  KnownResults known_results_;
  absl::Mutex realizing_;

  absl::Mutex mu_;
  absl::CondVar has_room_ ABSL_GUARDED_BY(mu_);
  absl::CondVar calls_ended_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  CommandLog log_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<RunStream> stream_ ABSL_GUARDED_BY(mu_);
  bool is_resuming_ ABSL_GUARDED_BY(mu_) = false;     // The stream is not the session's first.
  int attempts_ ABSL_GUARDED_BY(mu_) = 0;             // To resume, since the last that worked.
  size_t unreported_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Of results; the server does not know yet.
  std::set<std::shared_ptr<BulkCall>> calls_ ABSL_GUARDED_BY(mu_);
  absl::Time lost_since_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Time last_sent_ ABSL_GUARDED_BY(mu_), last_received_ ABSL_GUARDED_BY(mu_);
  bool is_keeping_alive_ ABSL_GUARDED_BY(mu_) = false;

  Timer timer_;  // Last: its functions are gone before the rest.
};

}  // namespace kiln::client
