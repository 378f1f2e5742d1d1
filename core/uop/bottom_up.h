// How a fact is computed. For the .cc files of this folder.
#pragma once

#include <vector>

#include "absl/types/span.h"

#include "core/uop/facts.h"

namespace kiln::uop::internal {

inline bool Has(Ref n, Facts::Have fact) {
  return n->facts != nullptr && (n->facts->have & fact) != 0;
}

// Calls `compute(n)` for every node below `root`, and for `root`, that lacks `fact`, sources first.
// `needs(n)` are the sources whose fact n's depends on; others are not visited. `compute` sets the
// bit of the fact, or returns false to stop. Returns whether it was not stopped. Linear in the
// edges visited; the stack is on the heap.
template <typename Needs, typename Compute>
bool ComputeBottomUp(Ref root, Facts::Have fact, Needs needs, Compute compute) {
  // Graphs are mostly asked as they grow, when only the root lacks the fact.
  bool ready = true;
  for (Ref s : needs(root)) ready = ready && Has(s, fact);
  if (ready) return compute(root);

  std::vector<Ref> stack = {root};
  while (!stack.empty()) {
    Ref n = stack.back();
    if (Has(n, fact)) {  // Reached on two paths.
      stack.pop_back();
      continue;
    }
    const size_t depth = stack.size();
    for (Ref s : needs(n)) {
      if (!Has(s, fact)) stack.push_back(s);
    }
    if (stack.size() != depth) continue;
    if (!compute(n)) return false;
    stack.pop_back();
  }
  return true;
}

}  // namespace kiln::uop::internal
