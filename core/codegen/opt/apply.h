// Doing what an Opt says.
#pragma once

#include "absl/status/statusor.h"

#include "core/codegen/opt/opt.h"
#include "core/codegen/target.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// The kernel after `opt`: the same values in memory. A range that is split keeps its axis id; its
// lanes are an existing lane range of that size if nothing depends on both, else a new one with the
// next free id. InvalidArgument with the reason if the opt is not legal:
// UPCAST  a loop range with a constant end that `amount` divides, on which every store depends; at
//         most kMaxLanes lanes in all
// UNROLL  the same for a range of reductions
// THREAD  a loop range with a constant end that `amount` divides, on which every store depends; once
// SWAP    two ranges that end at the same stores, or at the same reductions
// PADTO   a range with a constant end that `amount` does not divide
absl::StatusOr<uop::Ref> ApplyOpt(uop::Graph& g, uop::Ref kernel, const Opt& opt,
                                  const Target& target);

}  // namespace kiln::codegen
