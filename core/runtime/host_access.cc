#include "core/runtime/host_access.h"

#include <utility>

#include "core/runtime/device.h"

namespace kiln::runtime {

HostAccess::HostAccess(std::shared_ptr<Buffer> buffer, absl::Span<std::byte> memory)
    : buffer_(std::move(buffer)),
      memory_(memory),
      outcome_(std::make_shared<Outcome>()),
      done_{buffer_->device().host_points().Take(), outcome_} {}

HostAccess& HostAccess::operator=(HostAccess&& other) noexcept {
  if (this == &other) return *this;
  if (!is_over()) End(absl::CancelledError("the transfer was given up"));
  buffer_ = std::move(other.buffer_);
  memory_ = other.memory_;
  before_ = std::move(other.before_);
  outcome_ = std::move(other.outcome_);
  done_ = std::move(other.done_);
  return *this;
}

HostAccess::~HostAccess() {
  if (!is_over()) End(absl::CancelledError("the transfer was given up"));
}

void HostAccess::End(const absl::Status& status) {
  // The buffer may be the last thing that a session has, and goes after its point.
  const std::shared_ptr<Buffer> buffer = std::move(buffer_);
  outcome_->status = status;
  for (const Dependency& d : before_) {
    // Taken over from writes of other parts: see Hazards::AppendBeforeWrite.
    if (outcome_->status.ok() && d.outcome != nullptr && d.point.passed()) {
      outcome_->status = d.outcome->status;
    }
  }
  buffer->device().host_points().Pass(done_.point);
}

HostWrite::HostWrite(std::shared_ptr<Buffer> buffer, absl::Span<std::byte> memory, Extent extent)
    : HostAccess(std::move(buffer), memory) {
  buffer_->hazards().AppendBeforeWrite(before_, extent);
  buffer_->hazards().SetWrite(done_, extent);
}

HostRead::HostRead(std::shared_ptr<Buffer> buffer, absl::Span<std::byte> memory)
    : HostAccess(std::move(buffer), memory) {
  buffer_->hazards().AppendBeforeRead(before_);
  buffer_->hazards().AddRead(done_.point);
}

}  // namespace kiln::runtime
