// The device interp:0, which carries out programs one element at a time and checks every access:
// the oracle that other devices are compared with. Its programs are not optimised, so that a wrong
// optimisation shows as well.
#pragma once

#include "absl/status/status.h"

#include "core/runtime/registry.h"

namespace kiln::interp {

// AlreadyExists if the registry has the kind "interp".
absl::Status RegisterInterpBackend(runtime::Registry& registry);

}  // namespace kiln::interp
