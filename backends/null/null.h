// The device null:0, which compiles nothing and runs nothing: for measuring what everything else
// costs. Buffers and copies are real, kernels leave their outputs as they are.
#pragma once

#include "absl/status/status.h"

#include "core/runtime/registry.h"

namespace kiln::null {

// AlreadyExists if the registry has the kind "null".
absl::Status RegisterNullBackend(runtime::Registry& registry);

}  // namespace kiln::null
