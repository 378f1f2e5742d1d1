#include "server/executor/events.h"

#include <algorithm>
#include <utility>

#include "server/secret.h"

namespace kiln::server {

void Event::Pass() {
  std::vector<std::function<void()>> callbacks;
  {
    absl::MutexLock lock(&mu_);
    passed_ = true;
    callbacks.swap(callbacks_);
  }
  for (const auto& callback : callbacks) callback();
}

void Event::OnPassed(std::function<void()> callback) {
  {
    absl::MutexLock lock(&mu_);
    if (!passed_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

std::shared_ptr<Event> Events::New() {
  std::shared_ptr<Event> event(new Event(NewTicket()));  // NOLINT: a private constructor.
  absl::MutexLock lock(&mu_);
  if (events_.size() >= drop_at_) {
    absl::erase_if(events_, [](const auto& entry) { return entry.second.expired(); });
    drop_at_ = std::max<size_t>(1024, 2 * events_.size());
  }
  events_[event->ticket()] = event;
  return event;
}

absl::StatusOr<std::shared_ptr<Event>> Events::Find(const std::string& ticket) {
  absl::MutexLock lock(&mu_);
  if (const auto found = events_.find(ticket); found != events_.end()) {
    if (auto event = found->second.lock()) return event;
    events_.erase(found);
  }
  return absl::NotFoundError("the ticket is unknown, or its session has ended");
}

}  // namespace kiln::server
