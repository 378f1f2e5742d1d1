#include "core/runtime/buffer.h"

#include <algorithm>
#include <utility>

namespace kiln::runtime {
namespace {
// Writes of parts that are kept apart. With more, the next one takes over how they went.
constexpr size_t kMaxWrites = 24;
// Reads that are kept without looking whether they have passed.
constexpr size_t kPruneFrom = 8;
}  // namespace

void Hazards::Prune() const {
  bool any_failed = false;
  const auto is_over = [&any_failed](const Dependency& d) {
    if (!d.point.passed()) return false;
    if (d.outcome == nullptr || d.outcome->status.ok()) return true;
    return std::exchange(any_failed, true);
  };
  writes_.erase(std::remove_if(writes_.begin(), writes_.end(), is_over), writes_.end());
  before_.erase(
      std::remove_if(before_.begin(), before_.end(), [](const Point& p) { return p.passed(); }),
      before_.end());
}

void Hazards::AppendBeforeRead(std::vector<Dependency>& to) const {
  absl::MutexLock lock(&mu_);
  if (writes_.empty()) return;
  Prune();
  to.insert(to.end(), writes_.begin(), writes_.end());
}

void Hazards::AppendBeforeWrite(std::vector<Dependency>& to, Extent extent) const {
  absl::MutexLock lock(&mu_);
  Prune();
  const bool with_outcomes = extent == Extent::kPart && writes_.size() >= kMaxWrites;
  for (const Dependency& write : writes_) {
    if (with_outcomes) {
      to.push_back(write);
    } else if (!write.point.passed()) {
      to.push_back({write.point, nullptr});
    }
  }
  for (const Point& point : before_) to.push_back({point, nullptr});
}

void Hazards::Keep(Point point) {
  if (before_.size() >= kPruneFrom) Prune();
  for (Point& p : before_) {
    if (p.timeline == point.timeline) {
      p.value = std::max(p.value, point.value);
      return;
    }
  }
  before_.push_back(point);
}

void Hazards::AddRead(Point point) {
  absl::MutexLock lock(&mu_);
  Keep(point);
}

void Hazards::SetWrite(Dependency write, Extent extent) {
  absl::MutexLock lock(&mu_);
  Prune();
  if (extent == Extent::kWhole || writes_.size() >= kMaxWrites) {
    for (const Dependency& d : std::exchange(writes_, {})) {
      if (!d.point.passed()) Keep(d.point);
    }
  }
  // Points of one timeline pass in order.
  before_.erase(std::remove_if(before_.begin(), before_.end(),
                               [&](const Point& p) { return p.timeline == write.point.timeline; }),
                before_.end());
  if (write.point.timeline != nullptr) writes_.push_back(std::move(write));
}

absl::Status Hazards::AwaitReadable() const {
  std::vector<Dependency> all;
  AppendBeforeRead(all);
  absl::Status status;
  for (const Dependency& d : all) {
    const absl::Status s = Await(d);
    if (status.ok()) status = s;
  }
  return status;
}

void Hazards::AwaitWritable() const {
  std::vector<Dependency> all;
  AppendBeforeWrite(all);
  for (const Dependency& d : all) Await(d).IgnoreError();  // Order only: nothing to fail.
}

absl::StatusOr<std::unique_ptr<Buffer>> Memory::Import(absl::Span<std::byte> /*host*/,
                                                       HostLifetime /*lifetime*/) {
  return absl::UnimplementedError("the device does not import host memory");
}

}  // namespace kiln::runtime
