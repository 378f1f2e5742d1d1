// Whether an array is what a graph fixture expects, within its tolerance.
#pragma once

#include "absl/status/status.h"

#include "tests/replay/graphs_data.h"
#include "tests/replay/record.h"
#include "tests/support/tensor_run.h"

namespace kiln::replay {

struct Tolerance {
  double rtol = 0, atol = 0;
};

// `expect`: an entry of "expect" or "expect_buffers" (which has a "size" instead of a "shape"); its
// own "atol" counts, if it has one. FailedPrecondition says what differs: how many elements, the
// first of them, the largest deviation in units of what is allowed. InvalidArgument if the entry is
// malformed.
absl::Status CompareArray(const support::TensorArray& got, const Json& expect,
                          const GraphData& data, Tolerance tolerance);

}  // namespace kiln::replay
