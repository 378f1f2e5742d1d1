// Which graphs the server has seen, and may be named by their hash.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln::client {

// SHA-256, 32 bytes.
std::string Sha256(std::string_view bytes);

// Thread-safe. Remembers the last used; servers keep more (a session's last 64 MiB of graphs).
class SeenGraphs {
 public:
  static constexpr size_t kMostBytes = size_t{32} << 20;  // Of graphs.

  bool Has(const std::string& hash);
  void Add(const std::string& hash, size_t bytes);
  void Forget(const std::string& hash);

 private:
  absl::Mutex mu_;
  struct Graph {
    std::string hash;
    size_t bytes;
  };
  std::list<Graph> by_use_ ABSL_GUARDED_BY(mu_);  // The last used first.
  std::map<std::string, std::list<Graph>::iterator> places_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace kiln::client
