// The tensor graph in the form that the scheduler works on. For the .cc files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/schedule/schedule.h"
#include "core/uop/graph.h"
#include "core/uop/node_map.h"

namespace kiln::schedule::internal {

struct Prepared {
  Ref sink;
  std::vector<std::string> devices;
  uop::NodeMap<int32_t>
      device;  // Index into `devices`, plus 1. 0: anywhere, there is no data below.
  int32_t default_device = 0;
};

// The graph without DETACH, copies to where the source is, and CONTIGUOUS of what lies in memory. What is
// written in place and then read as an output or a copy, though it is only a part of its input, is read
// through a CONTIGUOUS. Large reductions to few elements are done in two steps, so that several cores
// can work on them.
absl::StatusOr<Prepared> Prepare(Graph& g, Ref sink, const ScheduleOptions& options);

// Whether an ASSIGN writes the whole of its input in order, through reshapes only.
bool AssignsWhole(Ref assign);

}  // namespace kiln::schedule::internal
