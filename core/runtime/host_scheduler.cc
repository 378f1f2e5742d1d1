#include "core/runtime/host_scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kiln::runtime {
namespace {
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
}  // namespace

// ** queues **

Point HostQueue::Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
                        std::shared_ptr<Outcome> outcome, SubmitMode mode) {
  Job job = {.commands = std::move(commands), .outcome = std::move(outcome)};
  for (const Dependency& d : wait) {
    const bool is_order_of_queue = d.point.timeline == &timeline_ && d.outcome == nullptr;
    if (!is_order_of_queue) job.wait.push_back(d);
  }
  num_commands_ += static_cast<int64_t>(job.commands->commands().size());
  HostScheduler& s = scheduler_;
  Point point = {&timeline_, 0};
  bool rings = false;
  {
    absl::MutexLock lock(&s.mu_);
    point.value = ++num_submitted_;
    job.value = point.value;
    jobs_.push_back(std::move(job));
    ++s.num_jobs_;
    if (state_ == State::kIdle) s.Settle(*this, /*was_active=*/false);
    if (mode == SubmitMode::kHeld) {
      ++s.num_held_;
    } else {
      rings = state_ == State::kReady && !s.thread_executes_;
    }
    // Waking a thread that is asleep takes longer than it waits for the lock then.
    if (rings && s.is_asleep_) {
      s.Ring();
      rings = false;
    }
  }
  // Not under the lock, which is what the thread takes next.
  if (rings) s.bell_ = true;
  return point;
}

void HostQueue::RunHere(Point until) {
  const auto scheduler = scheduler_.shared_from_this();  // The device may go with the last point.
  HostScheduler& s = *scheduler;
  absl::MutexLock lock(&s.mu_);
  --s.num_held_;
  if (state_ != State::kReady) {  // It is done, or whoever is at it or wakes it goes on.
    if (s.HasWork()) s.Ring();
    return;
  }
  if (s.executing_ != nullptr || s.ready_.size() > 1 || jobs_.size() > 1) {
    s.Ring();
    return;
  }
  s.Execute(s.PopReady(), until.value);
  if (!s.ready_.empty() || s.ending_) s.Ring();
}

void HostQueue::Cancel(const absl::Status& status) {
  HostScheduler& s = scheduler_;
  absl::MutexLock lock(&s.mu_);
  const bool is_owned = state_ == State::kOwned;
  for (Job& job : jobs_) {
    if (is_owned && &job == &jobs_.front()) {
      cancel_first_ = status;
    } else if (job.cancelled.ok()) {
      job.cancelled = status;
    }
  }
  s.SetAttention();
}

void HostQueue::EndCancelled() {
  const auto scheduler = scheduler_.shared_from_this();
  HostScheduler& s = *scheduler;
  absl::MutexLock lock(&s.mu_);
  if (state_ == State::kOwned || jobs_.empty() || jobs_.front().cancelled.ok()) return;
  if (state_ == State::kReady) s.RemoveReady(*this);
  s.FinishCancelled(*this);
  s.Settle(*this, /*was_active=*/false);
  if (state_ == State::kReady || s.ending_) s.Ring();
}

QueueLoad HostQueue::load() const {
  const uint64_t done = timeline_.value();  // First, so that it is not more than were submitted.
  return {.jobs = static_cast<int64_t>(num_submitted_.load() - done),
          .commands = num_commands_,
          .device_ns = device_ns_};
}

Point HostQueue::last_point() const {
  return {const_cast<HostTimeline*>(&timeline_), num_submitted_.load()};
}

// ** states of queues **

std::shared_ptr<HostQueue> HostScheduler::Open(QueueOptions options) {
  absl::MutexLock lock(&mu_);
  if (free_.empty()) {
    queues_.push_back(std::make_unique<HostQueue>(*this));
    free_.push_back(queues_.back().get());
  }
  HostQueue* queue = free_.back();
  free_.pop_back();
  queue->is_open_ = true;
  queue->options_ = std::move(options);
  queue->device_ns_ = 0;
  queue->used_ns_ = 0;
  return {queue, [self = shared_from_this()](HostQueue* q) { self->Close(*q); }};
}

void HostScheduler::Close(HostQueue& q) {
  absl::MutexLock lock(&mu_);
  q.is_open_ = false;
  if (q.state_ == State::kIdle) free_.push_back(&q);
}

int HostScheduler::num_queues() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(queues_.size());
}

void HostScheduler::Settle(HostQueue& q, bool was_active) {
  if (q.jobs_.empty()) {
    q.state_ = State::kIdle;
    if (!q.is_open_) free_.push_back(&q);
  } else if (!NextCanRun(q)) {
    q.state_ = State::kWaiting;
  } else {
    if (!was_active) q.used_ns_ = std::max(q.used_ns_, LeastUsed());
    q.state_ = State::kReady;
    ready_.push_back({q.used_ns_, ++num_turns_, &q});
    std::push_heap(ready_.begin(), ready_.end());
    SetAttention();
  }
}

bool HostScheduler::NextCanRun(HostQueue& q) {
  Job& job = q.jobs_.front();
  if (!job.cancelled.ok()) return true;
  for (; job.next_wait < job.wait.size(); ++job.next_wait) {
    const Dependency& d = job.wait[job.next_wait];
    if (!HasPassed(q, d.point)) return false;
    if (job.status.ok() && d.outcome != nullptr) job.status = d.outcome->status;
  }
  const absl::Span<const Command> commands = job.commands->commands();
  if (!job.status.ok() || job.next_command == commands.size()) return true;
  const auto* wait = std::get_if<WaitCommand>(&commands[job.next_command]);
  return wait == nullptr || HasPassed(q, wait->point);
}

bool HostScheduler::HasPassed(HostQueue& q, Point point) {
  if (point.passed()) return true;
  // Queues live as long as their scheduler.
  Timeline::Callback wake = [weak = weak_from_this(), &q, wait = ++q.num_waits_] {
    if (const auto self = weak.lock()) self->Wake(q, wait);
  };
  return !point.timeline->NotifyLater(point.value, wake);
}

void HostScheduler::Wake(HostQueue& q, uint64_t wait) {
  absl::MutexLock lock(&mu_);
  if (q.state_ != State::kWaiting || q.num_waits_ != wait) return;  // Cancelled meanwhile.
  Settle(q, /*was_active=*/false);
  if (q.state_ == State::kReady) Ring();
}

HostQueue& HostScheduler::PopReady() {
  HostQueue& q = *ready_.front().queue;
  std::pop_heap(ready_.begin(), ready_.end());
  ready_.pop_back();
  return q;
}

void HostScheduler::RemoveReady(HostQueue& q) {
  std::erase_if(ready_, [&q](const Ready& r) { return r.queue == &q; });
  std::make_heap(ready_.begin(), ready_.end());
}

int64_t HostScheduler::LeastUsed() const {
  if (executing_ == nullptr) return ready_.empty() ? now_ns_ : ready_.front().used_ns;
  const int64_t executing = executing_->used_ns_ + options_.clock_ns() - began_ns_;
  return ready_.empty() ? executing : std::min(executing, ready_.front().used_ns);
}

void HostScheduler::SetAttention() {
  int attention = kNone;
  if (executing_ != nullptr && !ready_.empty()) attention = kOthersReady;
  if (executing_ != nullptr && !executing_->cancel_first_.ok()) attention = kCancelled;
  if (attention_.load(std::memory_order_relaxed) != attention) {
    attention_.store(attention, std::memory_order_relaxed);
  }
}

// ** the thread **

bool HostScheduler::HasWork() const {
  return executing_ == nullptr && ready_.size() > static_cast<size_t>(num_held_);
}

void HostScheduler::Ring() {
  if (thread_executes_) return;
  bell_ = true;
  if (is_asleep_) bell_rung_.Signal();
}

void HostScheduler::End() {
  absl::MutexLock lock(&mu_);
  ending_ = true;
  Ring();
}

void HostScheduler::Loop() {
  if (options_.on_start) options_.on_start();
  mu_.Lock();
  while (true) {
    if (HasWork()) {
      thread_executes_ = true;
      Execute(PopReady(), kNever);
      thread_executes_ = false;
      continue;
    }
    if (ending_ && num_jobs_ == 0 && num_owners_ == 0) break;
    bell_ = false;
    mu_.Unlock();
    const int64_t spin_until = HostTimeNs() + options_.spin_us * 1000;
    while (!bell_ && HostTimeNs() < spin_until) {
      for (int i = 0; i < 8 && !bell_; ++i) Pause();
    }
    mu_.Lock();
    is_asleep_ = true;
    // What is ready may be about to ring: see HostQueue::Submit.
    while (!bell_ && !HasWork()) bell_rung_.Wait(&mu_);
    is_asleep_ = false;
  }
  mu_.Unlock();
}

}  // namespace kiln::runtime
