#include "core/runtime/stream.h"

#include "core/dtype/status.h"

namespace kiln::runtime {

Stream::OnDevice& Stream::On(Device& device) {
  for (OnDevice& d : devices_) {
    if (d.device == &device) return d;
  }
  devices_.push_back({&device, device.OpenQueue({.stream = id_, .probe = probe_}), nullptr});
  return devices_.back();
}

absl::StatusOr<Recording*> Stream::RecordingOf(uint64_t graph, const Plan& plan,
                                               const PlanMeters& meters) {
  std::vector<std::shared_ptr<Buffer>> arenas(plan.devices.size());
  for (size_t d = 0; d < arenas.size(); ++d) {
    const int64_t bytes = plan.arena_bytes[d];
    if (bytes == 0) continue;
    Device& device = *plan.devices[d];
    std::shared_ptr<Buffer>& arena = On(device).arena;
    if (arena == nullptr || arena->bytes() < bytes) {
      KILN_ASSIGN_OR_RETURN(arena, device.memory().Allocate(bytes, BufferUse::kDevice),
                            _ << "for temporaries on " << device.name());
    }
    arenas[d] = arena;
  }
  return &recordings_.Get(graph, plan, meters, std::move(arenas));
}

void Stream::Cancel(const absl::Status& status) {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    // A run on several devices is submitted as a whole, or not yet.
    absl::MutexLock lock(&mu_);
    for (const OnDevice& d : devices_) {
      d.queue->Cancel(status);
      queues.push_back(d.queue);
    }
  }
  for (const std::shared_ptr<Queue>& queue : queues) queue->EndCancelled();
}

QueueLoad Stream::load() const {
  QueueLoad sum;
  absl::MutexLock lock(&mu_);
  for (const OnDevice& d : devices_) {
    const QueueLoad load = d.queue->load();
    sum.jobs += load.jobs;
    sum.commands += load.commands;
    sum.device_ns += load.device_ns;
  }
  return sum;
}

QueueLoad Stream::load(const Device& device) const {
  absl::MutexLock lock(&mu_);
  for (const OnDevice& d : devices_) {
    if (d.device == &device) return d.queue->load();
  }
  return {};
}

absl::Status Stream::AwaitIdle(absl::Time deadline) const {
  std::vector<Point> last;
  {
    absl::MutexLock lock(&mu_);
    for (const OnDevice& d : devices_) last.push_back(d.queue->last_point());
  }
  for (const Point& point : last) KILN_RETURN_IF_ERROR(Await({point, nullptr}, deadline));
  return absl::OkStatus();
}

int64_t Stream::arena_bytes() const {
  absl::MutexLock lock(&mu_);
  int64_t bytes = 0;
  for (const OnDevice& d : devices_) {
    if (d.arena != nullptr) bytes += d.arena->bytes();
  }
  return bytes;
}

void Stream::DropArenas() {
  absl::MutexLock lock(&mu_);
  recordings_.Clear();  // They have the arenas, too.
  for (OnDevice& d : devices_) d.arena = nullptr;
}

}  // namespace kiln::runtime
