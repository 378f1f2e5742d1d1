// Graphs as bytes: how they go from one Graph to another, and what they are identified by. Equal
// for structurally equal graphs, whatever the ids of their nodes, in every process and on every
// machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::runtime {

// Appends the compact form of everything below `roots`. Linear, without recursion; only reads the
// nodes, so that several threads may do it while nobody adds to the graph.
void AppendCompact(absl::Span<const Ref> roots, std::string& to);
inline std::string Compact(Ref root) {
  std::string bytes;
  AppendCompact(absl::MakeConstSpan(&root, 1), bytes);
  return bytes;
}

// The roots, made in `g`. DataLoss if the bytes are not what AppendCompact makes.
absl::StatusOr<std::vector<Ref>> FromCompact(Graph& g, std::string_view bytes);

}  // namespace kiln::runtime
