// What the files about trees of one operation share. For the .cc files of this folder.
#pragma once

#include <vector>

#include "absl/types/span.h"

#include "core/symbolic/sum.h"

namespace kiln::symbolic {

// ((operands[0] op operands[1]) op operands[2]) ..., marked as normal. Pre: not empty.
Ref MakeChain(Graph& g, Op op, absl::Span<const Ref> operands);

// A sum during normalisation.
struct SumParts {
  std::vector<Term> terms;
  Int128 constant = 0;
};

// Normal forms of trees other than sums, from their operands, none of which is a tree of the same
// op. Null if a constant does not fit index.
Ref MakeProduct(Graph& g, DType d, absl::Span<const Ref> factors);
Ref MakeMaximum(Graph& g, DType d, absl::Span<const Ref> operands);
// AND and OR.
Ref MakeClauses(Graph& g, Op op, DType d, absl::Span<const Ref> operands);

}  // namespace kiln::symbolic
