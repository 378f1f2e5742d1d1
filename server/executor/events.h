// Events: points in the order of one session's commands, for which other sessions can wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace kiln::server {

// Thread-safe. Passes when its session ends, at the latest.
class Event {
 public:
  ~Event() { Pass(); }
  void Pass();
  // Calls once it has passed: now, or on the thread that passes it.
  void OnPassed(std::function<void()> callback);
  const std::string& ticket() const { return ticket_; }

 private:
  friend class Events;
  explicit Event(std::string ticket) : ticket_(std::move(ticket)) {}

  const std::string ticket_;
  absl::Mutex mu_;
  bool passed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> callbacks_ ABSL_GUARDED_BY(mu_);
};

// The events of all sessions by ticket. Thread-safe.
class Events {
 public:
  std::shared_ptr<Event> New();
  // NotFound: unknown, or gone with its session.
  absl::StatusOr<std::shared_ptr<Event>> Find(const std::string& ticket);

 private:
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::weak_ptr<Event>> events_ ABSL_GUARDED_BY(mu_);
  size_t drop_at_ ABSL_GUARDED_BY(mu_) = 1024;
};

}  // namespace kiln::server
