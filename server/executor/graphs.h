// The graphs of a session: those it has sent, those made ready, and those it has given an id.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/runtime/digest.h"
#include "core/runtime/engine.h"
#include "server/status.h"

namespace kiln::server {

// A serialised pb::Graph. Immutable.
struct GraphText {
  runtime::Digest digest;
  std::string bytes;
};

// A graph with the nodes that are asked for, ready to run. Immutable.
struct ReadyGraph {
  std::shared_ptr<runtime::GraphRunner> runner;
  bool was_known = false;  // To the engine: nothing was scheduled or compiled.
};

// Least recently used go first. Thread-compatible.
template <typename Value>
class LruMap {
 public:
  struct Entry {
    std::string key;
    Value value;
    int64_t weight;
  };
  explicit LruMap(int64_t max_weight) : max_weight_(max_weight) {}

  // Null if there is none; borrowed until the next call.
  Value* Find(const std::string& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }
  // The newest entry stays, whatever its weight.
  void Add(std::string key, Value value, int64_t weight) {
    if (Find(key) != nullptr) return;
    entries_.push_front({key, std::move(value), weight});
    by_key_[std::move(key)] = entries_.begin();
    weight_ += weight;
    while (weight_ > max_weight_ && entries_.size() > 1) {
      weight_ -= entries_.back().weight;
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

 private:
  int64_t max_weight_;
  int64_t weight_ = 0;
  std::list<Entry> entries_;
  absl::flat_hash_map<std::string, typename std::list<Entry>::iterator> by_key_;
};

// Thread-safe.
class Graphs {
 public:
  struct Limits {
    int64_t max_graphs;
    int64_t max_nodes;
    int64_t max_name_bytes;
    int64_t max_text_bytes = int64_t{64} << 20;  // Of graphs that can be named by hash.
    int64_t max_ready = 1024;                    // Graphs kept ready for GraphRun.
  };
  explicit Graphs(Limits limits)
      : limits_(limits), texts_(limits.max_text_bytes), ready_(limits.max_ready) {}

  // ** by contents **
  // NotFound: it must be sent inline. InvalidArgument: it is no SHA-256.
  absl::StatusOr<std::shared_ptr<const GraphText>> FindText(const std::string& hash);
  // Null if it has to be prepared.
  std::shared_ptr<const ReadyGraph> FindReady(const GraphText& text,
                                              absl::Span<const uint32_t> outputs);
  // Parses, checks, schedules and compiles; remembers the text if the graph is right. Takes
  // milliseconds to seconds. `captured`: with command lists of its own.
  absl::StatusOr<std::shared_ptr<const ReadyGraph>> Prepare(
      runtime::Engine& engine, const std::shared_ptr<const GraphText>& text,
      absl::Span<const uint32_t> outputs, bool captured);

  // ** by id **: as in MemoryTable.
  absl::Status CheckNew(uint64_t id) const;
  void Add(uint64_t id, std::shared_ptr<const ReadyGraph> graph);
  void AddFailed(uint64_t id, const Failure& failure);
  absl::StatusOr<std::shared_ptr<const ReadyGraph>> Find(uint64_t id) const;
  absl::Status Remove(uint64_t id);
  void Close();
  int64_t size() const;

 private:
  struct Named {
    std::shared_ptr<const ReadyGraph> graph;  // Null: it could not be made.
    Failure failure;
  };
  void AddNamed(uint64_t id, Named named);

  const Limits limits_;
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<uint64_t, Named> named_ ABSL_GUARDED_BY(mu_);
  LruMap<std::shared_ptr<const GraphText>> texts_ ABSL_GUARDED_BY(mu_);
  LruMap<std::shared_ptr<const ReadyGraph>> ready_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::server
