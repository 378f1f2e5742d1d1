// A record of what a rewrite did: every application, and totals per rule. Nothing is paid when
// there is none.
//
//   Trace trace({.now_ns = &MonotonicNanos});
//   Rewrite(g, root, {.name = "symbolic", .rules = kSymbolic, .trace = &trace});
//   std::cout << trace.Summary();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/rewrite/rule.h"

namespace kiln::rewrite {

struct TraceOptions {
  // Monotonic nanoseconds. core/ below runtime knows no clock, so the caller brings one; null: all
  // times are 0.
  uint64_t (*now_ns)() = nullptr;
  // Applications kept in events(); totals go on beyond it.
  size_t max_events = 100'000;
};

// Confined to the compile job. Nodes in it are borrowed from the graph.
class Trace {
 public:
  struct Event {
    const RuleInfo* rule;
    Ref before, after;
    uint64_t ns;
  };
  struct Total {
    const RuleInfo* rule;
    int64_t tries = 0, hits = 0;
    uint64_t ns = 0;
  };

  explicit Trace(TraceOptions options = {}) : options_(options) {}

  uint64_t Now() const { return options_.now_ns == nullptr ? 0 : options_.now_ns(); }
  void Add(const RuleInfo& rule, Ref before, Ref after, uint64_t ns);

  // In order of application.
  const std::vector<Event>& events() const { return events_; }
  // By hits, most first; then by place in the source.
  std::vector<Total> Totals() const;
  // Totals as a table: hits, tries, microseconds, file:line, algebra.
  std::string Summary() const;

 private:
  TraceOptions options_;
  std::vector<Event> events_;
  std::vector<Total> totals_;
  absl::flat_hash_map<const RuleInfo*, size_t> index_;
};

}  // namespace kiln::rewrite
