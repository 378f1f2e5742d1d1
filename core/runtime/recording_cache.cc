#include "core/runtime/recording_cache.h"

#include <algorithm>
#include <utility>

namespace kiln::runtime {
namespace {

// Recordings of one graph that are kept for runs that overlap: of small ones more, since more of
// them are under way at one time.
size_t MaxRecordings(const Plan& plan) {
  return std::clamp<size_t>(1024 / std::max<size_t>(plan.items.size(), 1), 8, 64);
}

}  // namespace

Recording& RecordingCache::Get(uint64_t graph, const Plan& plan, const PlanMeters& meters,
                               std::vector<std::shared_ptr<Buffer>> arenas) {
  auto found = graphs_.find(graph);
  if (found == graphs_.end()) {
    if (graphs_.size() >= static_cast<size_t>(max_graphs_)) {
      graphs_.erase(std::min_element(graphs_.begin(), graphs_.end(), [](auto& a, auto& b) {
        return a.second.last_used < b.second.last_used;
      }));
    }
    found = graphs_.try_emplace(graph).first;
  }
  found->second.last_used = ++num_gets_;
  auto& recordings = found->second.recordings;
  if (!recordings.empty() &&
      !std::equal(arenas.begin(), arenas.end(), recordings.back()->arenas().begin())) {
    recordings.clear();
  }
  // Runs of a stream end in order: if the oldest is not over, others hardly are.
  if (!recordings.empty() && recordings.front()->is_free()) {
    recordings.push_back(std::move(recordings.front()));
    recordings.pop_front();
    return *recordings.back();
  }
  // Lists of one that goes live on until its run is over.
  if (recordings.size() >= MaxRecordings(plan)) recordings.pop_front();
  recordings.push_back(std::make_unique<Recording>(plan, meters, std::move(arenas)));
  return *recordings.back();
}

}  // namespace kiln::runtime
