// The ranges of a kernel, and putting others in their place. For the .cc files of codegen.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

#include "core/codegen/program.h"
#include "core/uop/facts.h"
#include "core/uop/graph.h"
#include "core/uop/ranges.h"

namespace kiln::codegen::internal {

// Of a kernel's STORE or REDUCE, the ranges that end there; none of other nodes. (A STORE's gate is
// no range.)
absl::Span<const Ref> EndedRanges(Ref n);

using uop::DependsOn;
using uop::RangesBelow;

inline int32_t AxisId(Ref range) { return range->arg.range().axis_id; }
inline AxisType TypeOf(Ref range) { return range->arg.range().type; }
// The end if it is a constant, else -1.
inline int64_t ConstEnd(Ref range) {
  return range->src(0)->IsConst() ? range->src(0)->IntValue() : -1;
}

struct RangeReplacement {
  Ref range;
  Ref value;                           // What its counter becomes, of dtype index.
  absl::InlinedVector<Ref, 2> ranges;  // What ends where it ended.
};
// The kernel with ranges replaced, all at once. Nodes that do not depend on them stay the same.
Ref ReplaceRanges(Graph& g, Ref root, absl::Span<const RangeReplacement> replacements);

// `n` with these ranges as those that end there. Pre: STORE or REDUCE.
Ref WithEndedRanges(Graph& g, Ref n, absl::Span<const Ref> ranges);

}  // namespace kiln::codegen::internal
