// Good Opts in microseconds.
#pragma once

#include <vector>

#include "core/codegen/opt/opt.h"
#include "core/codegen/target.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// Opts for a kernel whose ranges are simplified, each legal after those before it. No opts where
// none pays.
std::vector<Opt> ChooseOpts(uop::Graph& g, uop::Ref kernel, const Target& target);

}  // namespace kiln::codegen
