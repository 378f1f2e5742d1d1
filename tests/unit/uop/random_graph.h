// Random graphs over all ops. They need not mean anything: for what must work on any graph.
#pragma once

#include <vector>

#include "core/uop/graph.h"
#include "tests/support/random.h"

namespace kiln::uop {

// Makes about `nodes` nodes and returns a few of them, the last one among them. Sources are random,
// dtypes mostly the implied ones, args valid, tags rare.
std::vector<Ref> RandomGraph(Graph& g, support::Random& random, int nodes);

// A valid constant or arg of the op; a payload has texts with all kinds of bytes.
Arg RandomArg(Graph& g, support::Random& random, Op op, DType dtype);

}  // namespace kiln::uop
