#include "core/runtime/buffer.h"

#include <algorithm>
#include <utility>

namespace kiln::runtime {

void Hazards::AppendBeforeRead(std::vector<Dependency>& to) const {
  absl::MutexLock lock(&mu_);
  const bool went_well =
      write_.outcome == nullptr || (write_.point.passed() && write_.outcome->status.ok());
  if (!write_.point.passed() || !went_well) to.push_back(write_);
}

void Hazards::AppendBeforeWrite(std::vector<Dependency>& to) const {
  absl::MutexLock lock(&mu_);
  if (!write_.point.passed()) to.push_back({write_.point, nullptr});
  for (const Point& read : reads_) {
    if (!read.passed()) to.push_back({read, nullptr});
  }
}

void Hazards::AddRead(Point point) {
  if (point.timeline == nullptr) return;
  absl::MutexLock lock(&mu_);
  for (Point& read : reads_) {
    if (read.timeline == point.timeline) {
      read.value = std::max(read.value, point.value);
      return;
    }
  }
  reads_.push_back(point);
}

void Hazards::SetWrite(Dependency write) {
  absl::MutexLock lock(&mu_);
  write_ = std::move(write);
  reads_.clear();
}

absl::Status Hazards::AwaitReadable() const {
  Dependency write;
  {
    absl::MutexLock lock(&mu_);
    write = write_;
  }
  return Await(write);
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
