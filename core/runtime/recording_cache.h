// The recordings of a stream.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/runtime/recording.h"

namespace kiln::runtime {

// Keeps recordings of graphs, several of one graph for runs that overlap. Thread-compatible.
class RecordingCache {
 public:
  explicit RecordingCache(int max_graphs) : max_graphs_(max_graphs) {}

  // One that is free, with these arenas. It has to be submitted before the next call.
  Recording& Get(uint64_t graph, const Plan& plan, const PlanMeters& meters,
                 std::vector<std::shared_ptr<Buffer>> arenas);
  // What is in use lives on until its run is over.
  void Clear() { graphs_.clear(); }

 private:
  struct OfGraph {
    std::deque<std::unique_ptr<Recording>> recordings;  // The least recently used first.
    uint64_t last_used = 0;
  };
  const int max_graphs_;
  uint64_t num_gets_ = 0;
  absl::flat_hash_map<uint64_t, OfGraph> graphs_;
};

}  // namespace kiln::runtime
