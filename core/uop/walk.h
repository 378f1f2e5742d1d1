// Walks over a graph with an explicit stack: graphs come from strangers and are deep.
#pragma once

#include <vector>

#include "absl/types/span.h"

#include "core/uop/node_map.h"
#include "core/uop/uop.h"

namespace kiln::uop {

// The nodes that `roots` depend on, and they themselves, each once, sources first (by id).
std::vector<Ref> Toposort(absl::Span<const Ref> roots);
inline std::vector<Ref> Toposort(Ref root) { return Toposort(absl::MakeConstSpan(&root, 1)); }

// For each node under `roots`, the nodes that have it among their sources, by id.
class Users {
 public:
  explicit Users(absl::Span<const Ref> roots);
  absl::Span<const Ref> Of(Ref n) const;

 private:
  struct Slice {
    uint32_t begin = 0, size = 0;
  };
  NodeMap<Slice> slices_;
  std::vector<Ref> users_;
};

// Number of distinct nodes under `root`, itself included.
int64_t CountNodes(Ref root);

// Calls `fn(node)` for each distinct node that `roots` depend on, and for them, until it returns
// false. Users before their sources where they are reached through them, no particular order beyond
// that it is the same for the same graph. Returns whether all were visited.
template <typename Fn>
bool Visit(absl::Span<const Ref> roots, Fn fn) {
  NodeMap<bool> seen;
  std::vector<Ref> stack;
  const auto push = [&](Ref n) {
    if (bool& s = seen[n]; !s) {
      s = true;
      stack.push_back(n);
    }
  };
  for (Ref r : roots) push(r);
  while (!stack.empty()) {
    Ref n = stack.back();
    stack.pop_back();
    if (!fn(n)) return false;
    for (Ref s : n->src()) push(s);
  }
  return true;
}
template <typename Fn>
bool Visit(Ref root, Fn fn) {
  return Visit(absl::MakeConstSpan(&root, 1), fn);
}

}  // namespace kiln::uop
