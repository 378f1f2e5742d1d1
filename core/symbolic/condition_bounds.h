// What a condition says about the values of its operands.
//
//   BoundsGiven(g, g.And(g.Lt(i, n3), g.Not(g.Lt(i, n0))));  // i is in [0, 2]
#pragma once

#include <optional>
#include <vector>

#include "core/uop/facts.h"
#include "core/uop/graph.h"

namespace kiln::symbolic {

struct BoundedNode {
  Ref node;
  Bounds bounds;  // Not wider than those of the node; may be unbounded at one end.
};

// Integer nodes, each once and in no meaningful order, and intervals in which they lie wherever
// `condition` is true. Null if it never is. Understands conjunctions of comparisons of a node with
// a constant, also negated; what is said of x + c, x * c and a cast of x is said of x, too.
std::optional<std::vector<BoundedNode>> BoundsGiven(Graph& g, Ref condition);

}  // namespace kiln::symbolic
