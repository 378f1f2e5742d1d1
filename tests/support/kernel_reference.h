// The meaning of a kernel, spelled out: what lowering is checked against.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/uop/graph.h"

namespace kiln::support {

// Elements of a kernel's buffers, by number of the PARAM.
using Contents = std::vector<std::vector<Scalar>>;

// Runs a kernel (kKernelSpec) by recursion over its expressions, once for each combination of the
// counters of a store's ranges. For small kernels: nothing is remembered. InvalidArgument for what
// has no value, and for an access outside its buffer.
absl::Status RunKernel(Ref kernel, const std::map<std::string, int64_t>& variables,
                       Contents& contents);

}  // namespace kiln::support
