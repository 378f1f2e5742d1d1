// Kernels that run as one. For the .cc files of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "core/schedule/kernels.h"
#include "core/schedule/order.h"
#include "core/uop/graph.h"

namespace kiln::schedule::internal {

struct MergeInput {
  absl::Span<const Task> tasks;  // Kernels first, then copies.
  absl::Span<const Kernel> kernels;
  absl::Span<const int32_t> devices;  // Of each kernel.
  absl::Span<const int32_t> order;    // Of the tasks, in which each reads what it means to.
};

// The tasks in an order that is right as well, those in one group as one: elementwise kernels with
// the same loops on one device that do not need each other, if they read some of the same elements
// or are so small that to start them costs more than to run them. Of a kernel that overwrites what
// another of its group reads, that one reads the element that this one writes, and no other.
// A kernel only moves forward, to one that is first. Cost: linear in tasks, reads and loads.
std::vector<std::vector<int32_t>> MergeTasks(const States& states, const MergeInput& input);

// The bodies of several kernels as one: PARAM number k of the i-th becomes number numbers[i][k].
Ref MergeSinks(Graph& g, absl::Span<const Ref> sinks,
               absl::Span<const std::vector<int32_t>> numbers);

}  // namespace kiln::schedule::internal
