#include "core/schedule/share_loops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/substitute.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

struct Reduction {
  Ref node;
  int level;  // How many reductions, each of which needs the next, are below it.
  absl::Span<const Ref> ranges() const { return node->src().subspan(1); }
};

std::vector<Reduction> ReductionsOf(Ref sink) {
  std::vector<Reduction> all;
  uop::NodeMap<int> level;  // The most below a node, it included.
  for (Ref n : uop::Toposort(sink)) {
    int below = 0;
    for (Ref s : n->src()) below = std::max(below, level.Get(s));
    if (n->op == Op::kReduce) all.push_back({n, below++});
    level[n] = below;
  }
  return all;
}

// The loops that a reduction is in, apart from those of the kernel's result.
std::vector<Ref> OuterReductions(Graph& g, Ref reduce) {
  std::vector<Ref> outer;
  for (Ref r : uop::RangesOf(g, reduce)) {
    if (r->arg.range().type == AxisType::kReduce) outer.push_back(r);
  }
  return outer;
}

bool CanShare(Graph& g, const Reduction& a, const Reduction& b) {
  // On one level neither needs the other.
  if (a.level != b.level || a.ranges().size() != b.ranges().size()) return false;
  for (size_t i = 0; i < a.ranges().size(); ++i) {
    if (a.ranges()[i]->src(0) != b.ranges()[i]->src(0)) return false;
  }
  return a.ranges() != b.ranges() && OuterReductions(g, a.node) == OuterReductions(g, b.node);
}

}  // namespace

Ref ShareLoops(Graph& g, Ref sink) {
  while (true) {
    const std::vector<Reduction> all = ReductionsOf(sink);
    std::vector<uop::Replacement> same;
    for (size_t i = 0; i < all.size() && same.empty(); ++i) {
      for (size_t j = i + 1; j < all.size() && same.empty(); ++j) {
        if (!CanShare(g, all[i], all[j])) continue;
        for (size_t k = 0; k < all[i].ranges().size(); ++k) {
          same.emplace_back(all[j].ranges()[k], all[i].ranges()[k]);
        }
      }
    }
    if (same.empty()) return sink;
    sink = uop::SubstituteOnce(g, sink, same);
  }
}

}  // namespace kiln::schedule::internal
