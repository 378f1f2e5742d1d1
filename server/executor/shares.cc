#include "server/executor/shares.h"

#include <algorithm>
#include <utility>

#include "server/secret.h"

namespace kiln::server {

std::shared_ptr<const Shares::Share> Shares::Add(MemoryRange range,
                                                 std::shared_ptr<const void> next) {
  range.charge = nullptr;
  range.share = nullptr;  // Else a share would keep itself.
  auto share = std::make_shared<Share>(Share{std::move(range), NewTicket(), std::move(next)});
  absl::MutexLock lock(&mu_);
  if (shares_.size() >= drop_at_) DropExpired();
  shares_[share->ticket] = share;
  return share;
}

absl::StatusOr<MemoryRange> Shares::Find(const std::string& ticket) {
  absl::MutexLock lock(&mu_);
  if (const auto found = shares_.find(ticket); found != shares_.end()) {
    if (const auto share = found->second.lock()) return share->range;
    shares_.erase(found);
  }
  return absl::NotFoundError("the ticket is unknown, or its buffer was freed");
}

void Shares::DropExpired() {
  absl::erase_if(shares_, [](const auto& entry) { return entry.second.expired(); });
  drop_at_ = std::max<size_t>(1024, 2 * shares_.size());
}

}  // namespace kiln::server
