// Buffers that sessions share with others, by ticket.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/executor/memory.h"

namespace kiln::server {

// Thread-safe.
class Shares {
 public:
  // What a ticket stands for; it is valid as long as this lives.
  struct Share {
    MemoryRange range;  // Without charge; is_writable: for the other side.
    std::string ticket;
    std::shared_ptr<const void> next;  // An earlier share of the same buffer, kept as well.
  };
  // A new share of `range`. Keep it.
  std::shared_ptr<const Share> Add(MemoryRange range, std::shared_ptr<const void> next);
  // NotFound: it is unknown or no longer valid.
  absl::StatusOr<MemoryRange> Find(const std::string& ticket);

 private:
  void DropExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::weak_ptr<const Share>> shares_ ABSL_GUARDED_BY(mu_);
  size_t drop_at_ ABSL_GUARDED_BY(mu_) = 1024;
};

}  // namespace kiln::server
