// Reads the text form of graphs: see text.h.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::uop {

// The roots that `text` ends with, made in `g`. InvalidArgument with line, column, what was
// expected and what was found. Safe on any bytes: does not recurse, and time and memory are linear
// in the length of the text, which the caller limits. What is parsed is well formed (sources and
// args are as the ops demand); whether it means anything is for its spec to say.
absl::StatusOr<std::vector<Ref>> ParseRoots(Graph& g, std::string_view text);

// The same for a text with one root.
absl::StatusOr<Ref> Parse(Graph& g, std::string_view text);

}  // namespace kiln::uop
