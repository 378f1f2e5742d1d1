// Operands on which operations go wrong if they go wrong at all.
#pragma once

#include <vector>

#include "core/dtype/scalar.h"

namespace kiln::conformance {

// Values of `d`: zeros, ends of the range, denormals, infinities, NaN, what rounds to even, shift
// counts, and `num_random` others.
std::vector<Scalar> HardOperands(DType d, int num_random);

}  // namespace kiln::conformance
