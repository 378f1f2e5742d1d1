// Compiled kernels on disk: one file each, in a folder that several processes may share.
//
// A file is published by renaming it, so that readers see all of it or nothing, and says what it
// holds, so that one that was cut off or altered is noticed, removed and made again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/digest.h"

namespace kiln::runtime {

// Thread-safe. Nothing that happens to the folder is an error after Open: at worst nothing is
// found.
class ObjectStore {
 public:
  struct Options {
    std::string folder;
    int64_t max_bytes = int64_t{512} << 20;  // Of all files; the least recently used go first.
  };
  // Makes the folder, readable for the user alone, if it is not there. It may be read-only.
  // FailedPrecondition if it can't be used: not there and can't be made, no folder, or one in which
  // other users can put files (what is in there is run).
  static absl::StatusOr<std::unique_ptr<ObjectStore>> Open(Options options);

  // What was stored under the key, unaltered. Takes some 20 us.
  std::optional<std::string> Find(const Digest& key);
  // Keeps `contents` under the key, instead of what is there. No more than an attempt.
  void Store(const Digest& key, std::string_view contents);

  struct Counters {
    int64_t hits = 0, misses = 0;
    int64_t damaged = 0;  // Found, but not what was stored. Among the misses.
    int64_t stored = 0, failed_stores = 0, evicted = 0;
    int64_t bytes = 0;  // In the folder, as far as this process knows.
  };
  Counters counters() const;

 private:
  explicit ObjectStore(Options options) : options_(std::move(options)) {}
  std::string PathOf(const Digest& key) const;
  // Looks at what is in the folder, and removes the oldest files if it is too much.
  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable absl::Mutex mu_;
  Counters counters_ ABSL_GUARDED_BY(mu_);
  // Bytes in the folder as far as this process knows: what it has seen, plus what it has stored.
  int64_t known_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace kiln::runtime
