#include "server/executor/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "server/command_kind.h"
#include "server/executor/call.h"

namespace kiln::server {
namespace {

absl::StatusOr<CommandOutcome> Plain(const absl::Status& status) {
  if (!status.ok()) return status;
  return CommandOutcome();
}

}  // namespace

Executor::Executor(ExecutorServices services, SessionLimits limits, uint64_t session)
    : services_(std::move(services)),
      limits_(limits),
      session_(session),
      stream_(services_.engine->NewStream({.id = session})),
      memory_({.max_buffers = limits.max_buffers, .max_bytes = limits.max_bytes}),
      graphs_({.max_graphs = limits.max_graphs,
               .max_nodes = limits.max_graph_nodes,
               .max_name_bytes = limits.max_name_bytes}),
      transfers_(std::make_unique<Transfers>(Transfers::Options{
          .max_transfers = limits.max_transfers, .timeout = limits.transfer_timeout})) {}

Executor::~Executor() = default;

// ** beginning **

Executor::Next Executor::Begin(pb::Command command, Finish finish, std::function<void()> resume) {
  auto call = std::make_shared<Call>();
  call->seq = command.seq();
  call->command = std::move(command);
  call->finish = std::move(finish);
  call->resume = std::move(resume);
  absl::StatusOr<Next> next = Next::kGoOn;
  {
    absl::MutexLock lock(&mu_);
    if (ended_.has_value()) next = *ended_;
  }
  if (next.ok()) next = BeginLater(call);
  if (!next.ok()) {
    Poison(call->command, RootOf(call->seq, next.status()));
    call->Done({.status = next.status()});
    return Next::kGoOn;
  }
  return *next;
}

absl::StatusOr<Executor::Next> Executor::BeginLater(const CallRef& call) {
  using Case = pb::Command::CommandCase;
  absl::Status status;
  switch (call->command.command_case()) {
    case Case::kCopyIn:
      return CopyIn(call);
    case Case::kGraphRun:
      return GraphRun(call);
    case Case::kGraphCompile:
      return GraphCompile(call);
    case Case::kEventWait:
      return WaitForEvent(call);
    case Case::kCopyOut:
      status = CopyOut(call);
      break;
    case Case::kTransfer:
      status = CopyBetween(call);
      break;
    case Case::kGraphExec:
      status = GraphExec(call);
      break;
    default: {
      KILN_ASSIGN_OR_RETURN(CommandOutcome outcome, DoNow(call->command));
      call->Done(std::move(outcome));
      return Next::kGoOn;
    }
  }
  if (!status.ok()) return status;
  return Next::kGoOn;
}

absl::StatusOr<CommandOutcome> Executor::DoNow(const pb::Command& command) {
  using Case = pb::Command::CommandCase;
  switch (command.command_case()) {
    case Case::kBufferAlloc:
      return Plain(Alloc(command.buffer_alloc()));
    case Case::kBufferView:
      return Plain(View(command.buffer_view()));
    case Case::kBufferFree:
      return Plain(memory_.Remove(command.buffer_free().buffer()));
    case Case::kGraphFree:
      return Plain(graphs_.Remove(command.graph_free().graph()));
    case Case::kEventRecord:
      return RecordEvent(command.event_record());
    case Case::kShare:
      return ShareBuffer(command.share());
    case Case::kAttach:
      return AttachBuffer(command.attach());
    case Case::kCancel:
      return CommandOutcome();  // It had its effect when it arrived.
    case Case::kSync: {
      CommandOutcome outcome = {.has_result = true};
      outcome.result.mutable_sync();
      return outcome;  // Told after those before it.
    }
    case Case::COMMAND_NOT_SET:
      return absl::UnimplementedError("a command that this server does not know");
    default:
      return absl::UnimplementedError(absl::StrCat(std::string(KindName(command.command_case())),
                                                   " is not in this version of the server"));
  }
}

// ** buffers **

absl::Status Executor::Alloc(const pb::BufferAlloc& command) {
  KILN_RETURN_IF_ERROR(memory_.CheckNew(command.buffer()));
  if (command.size() > static_cast<uint64_t>(limits_.max_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("size is ", command.size(), ", over max_session_bytes, ", limits_.max_bytes));
  }
  const auto bytes = static_cast<int64_t>(command.size());
  KILN_RETURN_IF_ERROR(memory_.CheckBytes(bytes));
  const std::string& device =
      command.device().empty() ? services_.default_device : command.device();
  KILN_ASSIGN_OR_RETURN(runtime::Device * on, services_.registry->Get(device));
  if (const int64_t all = on->memory().Limits().total_bytes; bytes > all) {
    return absl::ResourceExhaustedError(
        absl::StrCat("size is ", bytes, ", but ", device, " has ", all, " bytes"));
  }
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Buffer> buffer,
                        services_.engine->Allocate(device, bytes));
  memory_.Add(command.buffer(),
              {.allocation = std::make_shared<Allocation>(std::move(buffer), bytes),
               .charge = memory_.NewCharge(bytes),
               .bytes = bytes});
  return absl::OkStatus();
}

absl::Status Executor::View(const pb::BufferView& command) {
  KILN_RETURN_IF_ERROR(memory_.CheckNew(command.buffer()));
  KILN_ASSIGN_OR_RETURN(MemoryRange range, memory_.Find(command.of()));
  if (range.allocation == nullptr) {
    return Poisoned(absl::StrCat("buffer ", command.of()), range.failure);
  }
  const auto bytes = static_cast<uint64_t>(range.bytes);
  if (command.offset() > bytes || command.size() > bytes - command.offset()) {
    return absl::InvalidArgumentError(absl::StrCat("offset ", command.offset(), " and size ",
                                                   command.size(), " are not within buffer ",
                                                   command.of(), " of ", bytes, " bytes"));
  }
  const int64_t alignment = range.allocation->buffer()->device().memory().Limits().alignment;
  if (command.offset() % static_cast<uint64_t>(alignment) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset is ", command.offset(), ", not a multiple of ", alignment));
  }
  range.offset += static_cast<int64_t>(command.offset());
  range.bytes = static_cast<int64_t>(command.size());
  memory_.Add(command.buffer(), std::move(range));
  return absl::OkStatus();
}

// ** events **

absl::StatusOr<CommandOutcome> Executor::RecordEvent(const pb::EventRecord& command) {
  if (command.event() == 0) return absl::InvalidArgumentError("event ids begin at 1");
  std::shared_ptr<Event> event = services_.events->New();
  CommandOutcome outcome = {.has_result = true};
  outcome.result.mutable_event_record()->set_ticket(event->ticket());
  outcome.on_retired = [event] { event->Pass(); };
  std::shared_ptr<Event> replaced;
  absl::MutexLock lock(&mu_);
  if (!events_.contains(command.event()) &&
      static_cast<int64_t>(events_.size()) >= limits_.max_events) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the session has ", events_.size(), " events, max_events of it"));
  }
  replaced = std::exchange(events_[command.event()], std::move(event));
  return outcome;
}

absl::StatusOr<Executor::Next> Executor::WaitForEvent(const CallRef& call) {
  const pb::EventWait& command = call->command.event_wait();
  if (command.source_case() == pb::EventWait::kEvent) {
    absl::MutexLock lock(&mu_);
    if (!events_.contains(command.event())) {
      return absl::NotFoundError(absl::StrCat("there is no event ", command.event()));
    }
    call->Done({});  // It is of this session, so what is before it has begun before this.
    return Next::kGoOn;
  }
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event,
                        services_.events->Find(command.ticket()));
  // Whoever comes first: the event, or Stop.
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  const auto end = [call, is_over](const absl::Status& status) {
    if (is_over->exchange(true)) return;
    call->Done({.status = status});
    call->resume();
  };
  {
    absl::MutexLock lock(&mu_);
    interrupt_ = end;
  }
  event->OnPassed([end] { end(absl::OkStatus()); });
  return Next::kWait;
}

// ** sharing **

absl::StatusOr<CommandOutcome> Executor::ShareBuffer(const pb::Share& command) {
  KILN_ASSIGN_OR_RETURN(MemoryRange range, memory_.FindReadable(command.buffer()));
  if (command.mode() != pb::SHARE_MODE_READ_ONLY && command.mode() != pb::SHARE_MODE_READ_WRITE) {
    return absl::InvalidArgumentError(absl::StrCat("mode is ", static_cast<int>(command.mode()),
                                                   ", not READ_ONLY or READ_WRITE"));
  }
  if (command.mode() == pb::SHARE_MODE_READ_ONLY) {
    range.is_writable = false;
  } else if (!range.is_writable) {
    return absl::PermissionDeniedError(
        absl::StrCat("buffer ", command.buffer(), " is itself shared read-only"));
  }
  const std::shared_ptr<const void> earlier = range.share;
  const auto share = services_.shares->Add(std::move(range), earlier);
  memory_.SetShare(command.buffer(), share);
  CommandOutcome outcome = {.has_result = true};
  outcome.result.mutable_share()->set_ticket(share->ticket);
  return outcome;
}

absl::StatusOr<CommandOutcome> Executor::AttachBuffer(const pb::Attach& command) {
  KILN_RETURN_IF_ERROR(memory_.CheckNew(command.buffer()));
  KILN_ASSIGN_OR_RETURN(MemoryRange range, services_.shares->Find(command.ticket()));
  KILN_RETURN_IF_ERROR(memory_.CheckBytes(range.allocation->bytes()));
  range.charge = memory_.NewCharge(range.allocation->bytes());
  CommandOutcome outcome = {.has_result = true};
  outcome.result.mutable_attach()->set_size(static_cast<uint64_t>(range.bytes));
  outcome.result.mutable_attach()->set_device(range.allocation->buffer()->device().name());
  memory_.Add(command.buffer(), std::move(range));
  return outcome;
}

// ** failing **

void Executor::Skip(const pb::Command& command, const absl::Status& why) {
  Poison(command, RootOf(command.seq(), why));
  if (command.copy_in().transfer() != 0) transfers_->Fail(command.copy_in().transfer(), why);
  if (command.copy_out().transfer() != 0) transfers_->Fail(command.copy_out().transfer(), why);
}

void Executor::Poison(const pb::Command& command, const Failure& failure) {
  using Case = pb::Command::CommandCase;
  const auto written = [&](uint64_t id) {
    const absl::StatusOr<MemoryRange> range = memory_.FindWritable(id);
    if (range.ok()) range->allocation->Poison(failure);
  };
  const auto made = [&](uint64_t id) {
    if (memory_.Has(id)) {
      written(id);
    } else {
      memory_.AddFailed(id, failure);
    }
  };
  switch (command.command_case()) {
    case Case::kBufferAlloc:
      memory_.AddFailed(command.buffer_alloc().buffer(), failure);
      break;
    case Case::kBufferView:
      memory_.AddFailed(command.buffer_view().buffer(), failure);
      break;
    case Case::kAttach:
      memory_.AddFailed(command.attach().buffer(), failure);
      break;
    case Case::kCopyIn:
      written(command.copy_in().buffer());
      break;
    case Case::kTransfer:
      written(command.transfer().to());
      break;
    case Case::kGraphCompile:
      graphs_.AddFailed(command.graph_compile().graph(), failure);
      break;
    case Case::kGraphRun:
      for (const auto& output : command.graph_run().outputs()) made(output.buffer());
      break;
    case Case::kGraphExec: {
      const pb::GraphExec& exec = command.graph_exec();
      for (const pb::Binding& output : exec.outputs()) made(output.buffer());
      const auto graph = graphs_.Find(exec.graph());
      const std::vector<pb::Binding> inputs(exec.inputs().begin(), exec.inputs().end());
      if (graph.ok()) PoisonWritten((*graph)->runner->plan(), inputs, failure);
      break;
    }
    default:
      break;
  }
}

void Executor::Stop(const absl::Status& why) {
  std::function<void(const absl::Status&)> interrupt;
  {
    absl::MutexLock lock(&mu_);
    interrupt = std::exchange(interrupt_, nullptr);
  }
  if (interrupt) interrupt(why);
  transfers_->Stop(why);
  stream_->Cancel(why);
}

void Executor::End(const absl::Status& why) {
  absl::flat_hash_map<uint64_t, std::shared_ptr<Event>> events;
  {
    absl::MutexLock lock(&mu_);
    if (ended_.has_value()) return;
    ended_ = why;
    events.swap(events_);
  }
  transfers_->Cancel(why);
  Stop(why);
  memory_.Close();
  graphs_.Close();
  for (const auto& [id, event] : events) event->Pass();
}

Executor::Usage Executor::usage() const {
  return {.bytes = memory_.used_bytes() + stream_->arena_bytes(),
          .num_buffers = memory_.size(),
          .num_graphs = graphs_.size(),
          .device_time_ns = stream_->device_time_ns()};
}

}  // namespace kiln::server
