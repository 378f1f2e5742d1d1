// What the proto's "Values" say where fixtures are disputed. Written apart from core/dtype, which
// it checks.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

#include "core/dtype/alu_op.h"
#include "core/dtype/dtype.h"
#include "core/dtype/scalar.h"

namespace kiln::replay {

// The values that "Values" allow for `op` in a case that is disputed for the reason `why`; kCast:
// of `src` to `out`. Empty if they are silent about it.
std::vector<Scalar> WireValues(const std::string& why, dtype::AluOp op, DType src, DType out,
                               absl::Span<const Scalar> inputs);

}  // namespace kiln::replay
