// Where in one piece of memory the temporaries of a run lie, so that those that are not alive at
// the same time share it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace kiln::runtime {

// A temporary: written first by step `begin` of a list, used last by step `end`.
struct LiveRange {
  int64_t bytes;       // >= 0
  int32_t begin, end;  // begin <= end; both inclusive.
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // Bytes, multiples of the alignment, one for each range.
  int64_t bytes = 0;             // The end of the last: what the memory must have.
};

// No two ranges that share a step share a byte. Deterministic. Of several greedy orders the best,
// usually within a few percent of LowerBoundBytes; quadratic at most in up to a few thousand
// ranges, n log n beyond. Pre: `alignment` is a power of two; the sizes add up to less than 2^62.
MemoryPlan PlanMemory(absl::Span<const LiveRange> ranges, int64_t alignment);

// The most bytes that are alive at one step, sizes rounded up to the alignment: no plan is smaller.
int64_t LowerBoundBytes(absl::Span<const LiveRange> ranges, int64_t alignment);

}  // namespace kiln::runtime
