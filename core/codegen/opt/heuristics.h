// Good Opts in microseconds.
#pragma once

#include <vector>

#include "core/codegen/opt/opt.h"
#include "core/codegen/target.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// Opts, and the kernel after them.
struct Optimised {
  std::vector<Opt> opts;
  uop::Ref kernel;
};

// For a CPU: one machine vector along the range that makes most accesses contiguous, several
// accumulators for each reduction, a tile of registers where loaded values can be used more than
// once, and the outermost range that it divides split over the cores if there is enough work. Pre:
// the ranges of the kernel are simplified. No opts where none pays.
Optimised ChooseOpts(uop::Graph& g, uop::Ref kernel, const Target& target);

}  // namespace kiln::codegen
