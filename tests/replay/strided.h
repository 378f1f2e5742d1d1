// Plain strided views: index = offset + sum(coordinate * stride), everything valid.
#pragma once

#include "core/uop/graph.h"
#include "tests/replay/chain_json.h"

namespace kiln::replay {

// Whether every offset is that of one offset plus a stride times each coordinate.
bool IsAffine(const Elements& elements);

// Whether `index` is a sum of at most one term per range, each a range or a range times something
// free of ranges, and of terms free of ranges.
bool IsStridedForm(Graph& g, Ref index);

}  // namespace kiln::replay
