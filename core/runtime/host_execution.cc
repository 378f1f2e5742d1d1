// What HostScheduler does as owner of a queue: its jobs.
#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "core/dtype/status.h"
#include "core/runtime/host_scheduler.h"

namespace kiln::runtime {

void CopyHost(const BufferSlice& to, const BufferSlice& from) {
  const int64_t bytes = std::min(to.bytes, from.bytes);
  if (bytes == 0) return;  // Then there may be no memory.
  std::memcpy(to.host(), from.host(), static_cast<size_t>(bytes));
}

void HostScheduler::Execute(HostQueue& q, uint64_t until) {
  executing_ = &q;
  q.state_ = State::kOwned;
  ++num_owners_;
  now_ns_ = std::max(now_ns_, q.used_ns_);
  began_ns_ = options_.clock_ns();
  bool is_at_end = false, goes_on = true;
  while (goes_on) {
    Job& job = q.jobs_.front();
    if (job.status.ok()) job.status = job.cancelled;
    const int64_t began_ns = began_ns_;
    SetAttention();
    mu_.Unlock();
    const bool is_done = RunCommands(q, job);
    const int64_t ns = options_.clock_ns() - began_ns;
    job.device_ns += ns;
    q.device_ns_.store(q.device_ns_.load(std::memory_order_relaxed) + ns,
                       std::memory_order_relaxed);
    busy_ns_.store(busy_ns_.load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
    if (is_done) Finish(q, job);
    mu_.Lock();
    q.used_ns_ += ns;
    if (is_done) {
      is_at_end = job.value == until;
      PopJob(q);
    } else if (!q.cancel_first_.ok()) {
      job.cancelled = std::exchange(q.cancel_first_, absl::OkStatus());
      began_ns_ = options_.clock_ns();
      continue;
    }
    goes_on = !q.jobs_.empty() && !is_at_end && NextIsOurs(q);
    if (goes_on) began_ns_ = options_.clock_ns();
  }
  executing_ = nullptr;
  --num_owners_;
  // What it has used while nobody else was ready is not held against it.
  if (ready_.empty()) now_ns_ = std::max(now_ns_, q.used_ns_);
  if (q.state_ == State::kOwned) Settle(q, /*was_active=*/true);
  SetAttention();
}

bool HostScheduler::NextIsOurs(HostQueue& q) {
  if (!ready_.empty() && ready_.front().used_ns <= q.used_ns_) return false;
  if (NextCanRun(q)) return true;
  q.state_ = State::kWaiting;
  return false;
}

bool HostScheduler::RunCommands(HostQueue& q, Job& job) {
  const absl::Span<const Command> commands = job.commands->commands();
  for (bool is_first = true; job.next_command < commands.size(); is_first = false) {
    const int attention = attention_.load(std::memory_order_relaxed);
    if (attention == kCancelled || (attention == kOthersReady && !is_first)) return false;
    const Command& command = commands[job.next_command];
    if (const auto* signal = std::get_if<SignalCommand>(&command)) {
      if (signal->point.timeline != nullptr) signal->point.timeline->Signal(signal->point.value);
    } else if (const auto* wait = std::get_if<WaitCommand>(&command)) {
      if (job.status.ok() && !wait->point.passed()) return false;
    } else if (job.status.ok()) {
      const bool is_observed = q.options_.probe != nullptr && q.options_.probe->is_on();
      job.status =
          is_observed ? RunObserved(q, command, *job.commands) : RunCommand(command, *job.commands);
    }
    ++job.next_command;
  }
  return true;
}

absl::Status HostScheduler::RunCommand(const Command& command, CommandList& list) {
  if (const auto* exec = std::get_if<ExecCommand>(&command)) {
    KILN_RETURN_IF_ERROR(
        options_.run_kernel(*exec->executable, list.BuffersOf(*exec), list.VariablesOf(*exec)))
        << "kernel \"" << exec->executable->signature().name << "\"";
  } else if (const auto* copy = std::get_if<CopyCommand>(&command)) {
    CopyHost(list.buffer(copy->to), list.buffer(copy->from));
  } else if (const auto* timestamp = std::get_if<TimestampCommand>(&command)) {
    list.timestamps_ns()[timestamp->slot] = HostTimeNs();
  }
  return absl::OkStatus();
}

absl::Status HostScheduler::RunObserved(const HostQueue& q, const Command& command,
                                        CommandList& list) {
  KernelEvent event = {.stream = q.options_.stream, .begin_ns = HostTimeNs()};
  absl::Status status = RunCommand(command, list);
  event.end_ns = HostTimeNs();
  event.ok = status.ok();
  if (const auto* exec = std::get_if<ExecCommand>(&command)) {
    event.name = exec->executable->signature().name;
  } else if (const auto* copy = std::get_if<CopyCommand>(&command)) {
    event.name = "copy";
    event.copied_bytes = std::min(list.buffer(copy->to).bytes, list.buffer(copy->from).bytes);
  } else {
    return status;
  }
  if (const auto observer = q.options_.probe->observer()) observer->OnKernel(event);
  return status;
}

void HostScheduler::Finish(HostQueue& q, Job& job) {
  if (job.status.ok() && job.commands->meter() != nullptr) {
    job.commands->meter()->Record(job.device_ns);
  }
  if (job.outcome != nullptr) {
    job.outcome->device_ns = job.device_ns;
    job.outcome->status = std::move(job.status);
  }
  q.num_commands_ -= static_cast<int64_t>(job.commands->commands().size());
  job.commands->DropRetained();
  job.commands = nullptr;
  q.timeline_.Signal(job.value);
}

void HostScheduler::FinishCancelled(HostQueue& q) {
  q.state_ = State::kOwned;
  ++num_owners_;
  while (!q.jobs_.empty() && !q.jobs_.front().cancelled.ok()) {
    Job& job = q.jobs_.front();
    job.status = job.cancelled;
    mu_.Unlock();
    for (const Command& command : job.commands->commands()) {
      const auto* signal = std::get_if<SignalCommand>(&command);
      if (signal == nullptr || signal->point.timeline == nullptr) continue;
      signal->point.timeline->Signal(signal->point.value);
    }
    Finish(q, job);
    mu_.Lock();
    PopJob(q);
  }
  --num_owners_;
}

void HostScheduler::PopJob(HostQueue& q) {
  q.jobs_.pop_front();
  q.cancel_first_ = absl::OkStatus();
  --num_jobs_;
}

}  // namespace kiln::runtime
