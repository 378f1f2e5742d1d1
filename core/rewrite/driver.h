// The one rewrite driver.
//
//   KILN_ASSIGN_OR_RETURN(root, Rewrite(g, root, {.name = "collect terms", .rules = kSymbolic}));
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/rewrite/rule_set.h"
#include "core/rewrite/trace.h"

namespace kiln::rewrite {

enum class Order : uint8_t {
  // A node is offered once all its sources are final. Each distinct node is offered at most once
  // per run; a replacement is itself
  // rewritten; every node of the result has been offered and refused.
  kSourcesFirst,
  // A node is offered before its sources are visited, and what replaces it again, until it is
  // refused; then its sources. A node
  // whose sources changed is offered anew. A rule may return m.Stop(node): that node is kept, and
  // nothing below it is visited.
  kUsersFirst,
  // Each input node is offered once, after its sources were replaced; replacements are not
  // revisited. For substitution and numbering.
  kOnce,
};

struct Pass {
  std::string_view name;  // In traces and errors.
  const RuleSet& rules;
  Order order = Order::kSourcesFirst;
  Context context = {};  // What Match::context gives to the rules: Context(object).
  Trace* trace = nullptr;
  // Replacements before the run is given up. 0: 10,000, and 16 per node that the graph had when the
  // run began.
  int64_t max_hits = 0;
};

// What is left of `root` when no rule fires. O(nodes) plus the work of the rules; no recursion.
// Internal, naming the rules that fired last, if the rules do not end (a rule set's bug); or what a
// rule gave to Match::Fail.
absl::StatusOr<Ref> Rewrite(Graph& g, Ref root, const Pass& pass);

// Nodes offered and replaced by this thread so far: for benchmarks.
struct RewriteCounters {
  int64_t offered = 0, hits = 0;
};
RewriteCounters ThreadCounters();

}  // namespace kiln::rewrite
