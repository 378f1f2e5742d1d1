// Which values exist in memory. For the .cc files of this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"
#include "core/uop/node_map.h"

namespace kiln::schedule::internal {

struct Storage {
  // Nodes other than INPUT and ASSIGN that one kernel each computes into memory, sources first.
  std::vector<Ref> stored;
  uop::NodeMap<bool> is_stored;  // The same as a set.
  // Those that kernels read. What depends on no input and no reduction is computed again even if it is
  // stored as well.
  uop::NodeMap<bool> is_read;
};

// Decides what of the graph under `sink` is stored: outputs, what is copied or CONTIGUOUS, and every
// reduction, with what can be done on the way, that would else be computed more than once: because
// its result is expanded, or because it is used by several kernels or at different places. Anything
// without a reduction is computed again where it is needed. `must_store` is stored as well.
absl::StatusOr<Storage> ChooseStorage(Graph& g, Ref sink, absl::Span<const Ref> must_store);

// `n` without the reshapes around it: the same memory.
Ref SkipReshapes(Ref n);

// Whether `n` is memory of its own, without a kernel.
inline bool IsState(Ref n) { return n->op == Op::kInput || n->op == Op::kAssign; }

}  // namespace kiln::schedule::internal
