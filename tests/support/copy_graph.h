// The same expression in another graph, its nodes made in another order.
#pragma once

#include "core/uop/graph.h"
#include "tests/support/random.h"

namespace kiln::support {

// Sources are made before users, else in random order, and unrelated nodes in between, so that ids
// tell nothing.
Ref CopyShuffled(Graph& to, Ref root, Random& random);

// `root` with `from` replaced by `to`, in the same graph.
Ref Replace(Graph& g, Ref root, Ref from, Ref to);

}  // namespace kiln::support
