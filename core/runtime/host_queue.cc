#include "core/runtime/host_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::runtime {

void CopyHost(const BufferSlice& to, const BufferSlice& from) {
  std::memcpy(to.host(), from.host(), static_cast<size_t>(std::min(to.bytes, from.bytes)));
}

HostQueue::HostQueue(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

HostQueue::~HostQueue() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

Point HostQueue::Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
                        std::shared_ptr<Outcome> outcome) {
  Job job = {{wait.begin(), wait.end()}, std::move(commands), std::move(outcome), 0};
  absl::MutexLock lock(&mu_);
  job.value = ++num_submitted_;
  const Point point = {&timeline_, job.value};
  jobs_.push_back(std::move(job));
  return point;
}

std::optional<HostQueue::Job> HostQueue::Next() {
  const int64_t spin_until = HostTimeNs() + options_.spin_us * 1000;
  while (num_submitted_ == timeline_.value() && !ending_ && HostTimeNs() < spin_until) Pause();
  const auto awake = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ending_ || !jobs_.empty(); };
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&awake));
  if (jobs_.empty()) return std::nullopt;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

void HostQueue::Loop() {
  if (options_.on_start) options_.on_start();
  while (std::optional<Job> job = Next()) Run(*std::move(job));
}

void HostQueue::Run(Job job) {
  absl::Status status;
  for (const Dependency& d : job.wait) {
    const absl::Status waited = Await(d);
    if (status.ok()) status = waited;
  }
  for (const Command& command : job.commands->commands()) {
    absl::Status done = RunCommand(command, *job.commands, status);
    if (status.ok()) status = std::move(done);
  }
  if (job.outcome != nullptr) job.outcome->status = std::move(status);
  job.commands->DropRetained();
  job.commands = nullptr;
  timeline_.Signal(job.value);
}

absl::Status HostQueue::RunCommand(const Command& command, CommandList& list,
                                   const absl::Status& so_far) {
  if (const auto* signal = std::get_if<SignalCommand>(&command)) {
    if (signal->point.timeline != nullptr) signal->point.timeline->Signal(signal->point.value);
    return absl::OkStatus();
  }
  if (!so_far.ok()) return so_far;
  if (const auto* exec = std::get_if<ExecCommand>(&command)) {
    KILN_RETURN_IF_ERROR(
        options_.run_kernel(*exec->executable, list.BuffersOf(*exec), list.VariablesOf(*exec)))
        << "kernel \"" << exec->executable->signature().name << "\"";
  } else if (const auto* copy = std::get_if<CopyCommand>(&command)) {
    CopyHost(list.buffer(copy->to), list.buffer(copy->from));
  } else if (const auto* wait = std::get_if<WaitCommand>(&command)) {
    return Await({wait->point, nullptr});
  } else if (const auto* timestamp = std::get_if<TimestampCommand>(&command)) {
    list.timestamps_ns()[timestamp->slot] = HostTimeNs();
  }
  return absl::OkStatus();
}

}  // namespace kiln::runtime
