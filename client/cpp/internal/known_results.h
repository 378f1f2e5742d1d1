// What graphs have come out as: the same graph gives the same shapes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "kiln/v1/command.pb.h"

namespace kiln::client {

// Thread-safe. So that reading the result of a graph that has run before needs no question first.
class KnownResults {
 public:
  static constexpr size_t kMost = 4096;
  using Key = std::pair<std::string, std::vector<uint32_t>>;  // Hash of the graph; nodes.

  std::optional<v1::GraphResult> Find(const Key& key) {
    absl::MutexLock lock(&mu_);
    const auto found = results_.find(key);
    if (found == results_.end()) return std::nullopt;
    return found->second;
  }
  void Add(const Key& key, v1::GraphResult result) {
    absl::MutexLock lock(&mu_);
    if (results_.size() >= kMost) results_.clear();
    results_[key] = std::move(result);
  }

 private:
  absl::Mutex mu_;
  std::map<Key, v1::GraphResult> results_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::client
