// Element indices in machine integers. For the .cc files of this folder.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::codegen::internal {

// The INDEX `place` with an element index of dtype index where it was computed in int64, though it
// fits int32 wherever the gate holds, and nothing it is computed from wraps there. So the lowering
// of dtype index makes it int32. Null if that is not so.
absl::StatusOr<Ref> WithElementOfIndexDType(Graph& g, Ref place);

}  // namespace kiln::codegen::internal
