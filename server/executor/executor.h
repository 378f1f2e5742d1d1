// What runs the commands of one session against devices.
//
// Its only inputs are command messages and payload bytes, and its state is all its own, so that it can
// live in the daemon or in a worker process.
//
//   Executor executor(services, limits);
//   executor.Begin(command, [](CommandOutcome outcome) { ... }, [] { /* begin the next */ });
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/runtime/engine.h"
#include "core/runtime/stream.h"
#include "kiln/v1/command.pb.h"
#include "server/blobs/blob_store.h"
#include "server/executor/events.h"
#include "server/executor/graphs.h"
#include "server/executor/memory.h"
#include "server/executor/shares.h"
#include "server/executor/transfers.h"
#include "server/limits.h"
#include "server/observer.h"
#include "server/pb.h"
#include "server/work_pool.h"

namespace kiln::server {

// How a command went. The result has neither number nor status.
struct CommandOutcome {
  absl::Status status;
  bool has_result = false;  // Else success is all there is to tell.
  pb::Result result;
  // Called when those before it are done, too. May be empty.
  std::function<void()> on_retired;
};

// What executors share. Borrowed by them.
struct ExecutorServices {
  runtime::Engine* engine;
  runtime::Registry* registry;
  std::string default_device;
  WorkPool* pool;      // For compiling and reading blobs.
  Shares* shares;      // Buffers shared between sessions.
  Events* events;      // The same for events.
  BlobStore* blobs;    // May be null: there are none.
  Observer* observer;  // May be null.
};

// Begin and Skip are confined to the session's strand; the others are thread-safe. Destroyed after End, when no
// command is under way.
class Executor {
 public:
  enum class Next { kGoOn, kWait };
  using Finish = std::function<void(CommandOutcome)>;

  Executor(ExecutorServices services, SessionLimits limits, uint64_t session);
  ~Executor();

  // Begins a command, in the order in which it is called. `finish` is called once, when it is over: on
  // this thread or another, which may be a device's. kWait: nothing else may be begun until `resume` is
  // called, once, in the same way. Never blocks for long.
  Next Begin(pb::Command command, Finish finish, std::function<void()> resume);
  // Instead of Begin, for a command that fails before: poisons what it would have written.
  void Skip(const pb::Command& command, const absl::Status& why);
  // Ends what has begun and is not done with `why`: graphs at their next kernel, transfers at once.
  void Stop(const absl::Status& why);
  // Stop; and everything the session has is freed, when what uses it is over. Later commands fail.
  void End(const absl::Status& why);

  // For the bulk calls beside the stream.
  Transfers& transfers() { return *transfers_; }

  // Device time that what has begun and is not over will take, as far as it is known.
  int64_t queued_device_ns() const { return *queued_device_ns_; }

  struct Usage {
    int64_t bytes = 0;  // Of device memory, temporaries included.
    int64_t num_buffers = 0, num_graphs = 0;
    int64_t device_time_ns = 0;
  };
  Usage usage() const;

 private:
  struct Call;  // A command that has begun.
  using CallRef = std::shared_ptr<Call>;
  struct GraphCall;  // A run of a graph.

  // Done at once.
  absl::Status Alloc(const pb::BufferAlloc& command);
  absl::Status View(const pb::BufferView& command);
  absl::StatusOr<CommandOutcome> RecordEvent(const pb::EventRecord& command);
  absl::StatusOr<CommandOutcome> ShareBuffer(const pb::Share& command);
  absl::StatusOr<CommandOutcome> AttachBuffer(const pb::Attach& command);
  absl::StatusOr<CommandOutcome> DoNow(const pb::Command& command);

  // Begun; errors before anything has.
  absl::StatusOr<Next> BeginLater(const CallRef& call);
  absl::StatusOr<Next> CopyIn(const CallRef& call);
  absl::StatusOr<Next> CopyInBlob(const CallRef& call, MemoryRange range);
  absl::Status CopyInTransfer(const CallRef& call, const MemoryRange& range);
  absl::Status CopyOut(const CallRef& call);
  absl::Status CopyOutTransfer(const CallRef& call, const MemoryRange& range);
  absl::Status CopyBetween(const CallRef& call);
  absl::StatusOr<Next> WaitForEvent(const CallRef& call);
  absl::StatusOr<Next> GraphRun(const CallRef& call);
  absl::StatusOr<Next> GraphCompile(const CallRef& call);
  absl::Status GraphExec(const CallRef& call);
  // Binds and submits. The parts, in their order:
  absl::Status RunGraph(const CallRef& call, GraphCall run);
  absl::Status SubmitGraph(const CallRef& call, GraphCall& run);
  absl::Status BindInputs(const CallRef& call, GraphCall& run);
  absl::Status BindOutputs(GraphCall& run);
  absl::Status KeepOutputs(const CallRef& call, const GraphCall& run,
                           const runtime::RunResult& result,
                           std::vector<runtime::Dependency>& done);
  // Inputs that the graph assigns to.
  void PoisonWritten(const runtime::Plan& plan, absl::Span<const pb::Binding> inputs,
                     const Failure& failure);

  // What is written by the command holds nothing.
  void Poison(const pb::Command& command, const Failure& failure);

  const ExecutorServices services_;
  const SessionLimits limits_;
  const uint64_t session_;
  const std::shared_ptr<runtime::Stream> stream_;
  const std::shared_ptr<std::atomic<int64_t>> queued_device_ns_ =
      std::make_shared<std::atomic<int64_t>>(0);
  MemoryTable memory_;
  Graphs graphs_;
  const std::unique_ptr<Transfers> transfers_;

  mutable absl::Mutex mu_;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, std::shared_ptr<Event>> events_ ABSL_GUARDED_BY(mu_);
  // What a wait of the strand can be ended with; empty if it does not wait for an event.
  std::function<void(const absl::Status&)> interrupt_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::server
