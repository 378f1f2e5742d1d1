// The kind `const_factor`, which two sets have.
#pragma once

#include "absl/status/status.h"

#include "core/uop/graph.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// Whether ConstFactor(n) is `want`, or a multiple of it that divides the values of `n` at sampled
// points: the fixtures take one constant of a product, we take all. Signs do not count: a factor of
// ours is positive.
absl::Status CheckConstFactor(Graph& g, Ref n, const Json& want);

}  // namespace kiln::replay
