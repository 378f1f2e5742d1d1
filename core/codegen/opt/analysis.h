// What the heuristics know of a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

#include "core/codegen/op_support.h"
#include "core/symbolic/affine.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// A load or store of a kernel.
struct Access {
  uop::Ref node;
  uop::Ref place;                           // Its INDEX.
  std::optional<symbolic::Affine> element;  // Null: no sum that is known.
  double times = 1;  // How often it happens for each combination of the loop ranges: once for each
                     // counter of the reductions that it is in.

  bool IsStore() const { return node->Is(uop::Op::kStore); }
};

enum class Stride : uint8_t {
  kNone,       // The access does not depend on the range.
  kUnit,       // Neighbours.
  kScattered,  // Elements further apart, or gates and indices that no vector access can take.
};

// A REDUCE of a kernel.
struct Reduction {
  uop::Ref node;
  std::vector<uop::Ref> ended;  // Its ranges, by axis id.
  double times = 1;             // How often its operand is computed for each combination of loops.
};

// Everything found in one walk. Borrows nodes.
struct Analysis {
  std::vector<uop::Ref> ranges;  // By axis id.
  std::vector<uop::Ref> loops;   // Those that end at stores.
  std::vector<Access> accesses;
  std::vector<Reduction> reductions;  // Those that cost most first.
  double elements = 1;                // Combinations of the loops; symbolic ends at their maximum.
  double work = 0;                    // Operations in all.
  int64_t lane_bytes = 4;             // Of the widest dtype that is computed with.
};
Analysis Analyse(uop::Graph& g, uop::Ref kernel);

// What it takes to compute `n` once from what is loaded and from reductions: elementwise operations
// without index arithmetic, an elementary function counted as what it is made of.
int64_t OperationsOf(uop::Ref n, const OpSupport& ops);

Stride StrideOf(uop::Graph& g, const Access& access, uop::Ref range);

}  // namespace kiln::codegen
