// Replacing nodes by others.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::uop {

// What becomes of the first node of a pair is the second. If a node is listed twice, the last pair
// counts.
using Replacement = std::pair<Ref, Ref>;

// `root` with nodes replaced until none of those listed is left: a node is replaced before its
// sources are looked at, and a replacement, like a node whose sources have changed, is itself gone
// through. Nodes keep their tags. Linear in the nodes reached. InvalidArgument, naming the node, if
// that never ends because a node comes back below its own replacement, as in a -> a + 1.
absl::StatusOr<Ref> Substitute(Graph& g, Ref root, absl::Span<const Replacement> replacements);

// The same, but replacements are not gone through: all nodes are replaced at once, so a -> a + 1 or
// a -> b, b -> a are fine.
Ref SubstituteOnce(Graph& g, Ref root, absl::Span<const Replacement> replacements);

}  // namespace kiln::uop
