#include "core/codegen/program.h"

#include <algorithm>

#include "core/uop/facts.h"

namespace kiln::codegen {
namespace {

void AddLanes(Graph& g, Ref n, Lanes& lanes) {
  for (Ref r : uop::RangesOf(g, n)) {
    if (IsLane(r) && std::find(lanes.begin(), lanes.end(), r) == lanes.end()) lanes.push_back(r);
  }
}

}  // namespace

Lanes LanesOf(Graph& g, Ref n) {
  Lanes lanes;
  if (n->Is(Op::kStore)) {
    for (Ref s : n->src()) AddLanes(g, s, lanes);
  } else {
    AddLanes(g, n, lanes);
  }
  std::sort(lanes.begin(), lanes.end(),
            [](Ref a, Ref b) { return a->arg.range().axis_id < b->arg.range().axis_id; });
  return lanes;
}

}  // namespace kiln::codegen
