#include "core/uop/ranges.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/uop/bottom_up.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"

namespace kiln::uop {
namespace {

bool ById(Ref a, Ref b) { return a->id < b->id; }

// The first source that may be a range which ends at `n`; num_src if there is none.
int FirstEnded(Ref n) {
  switch (n->op) {
    case Op::kEnd:  // Its effects are no ranges, however many there are.
      return 0;
    case Op::kReduce:
      return 1;
    case Op::kStore:
      return 2;
    default:
      return n->num_src;
  }
}

bool IsLane(Ref range) {
  const AxisType type = range->arg.range().type;
  return type == AxisType::kUpcast || type == AxisType::kUnroll;
}

absl::Span<const Ref> KnownRanges(Ref n) { return {n->facts->ranges, n->facts->num_ranges}; }

// Reused between nodes.
struct Scratch {
  std::vector<Ref> ranges, merged;
};

// To `scratch.ranges`: the ranges of the sources, `n` itself if it is one, and without those that
// end here.
void Collect(Ref n, Scratch& scratch) {
  auto& [ranges, merged] = scratch;
  ranges.clear();
  for (Ref s : n->src()) {
    const absl::Span<const Ref> more = KnownRanges(s);
    // The usual: all sources depend on the same few ranges.
    if (std::includes(ranges.begin(), ranges.end(), more.begin(), more.end(), ById)) continue;
    merged.clear();
    std::set_union(ranges.begin(), ranges.end(), more.begin(), more.end(),
                   std::back_inserter(merged), ById);
    ranges.swap(merged);
  }
  for (int i = FirstEnded(n); i < n->num_src; ++i) {
    const auto at = std::lower_bound(ranges.begin(), ranges.end(), n->src(i), ById);
    if (at != ranges.end() && *at == n->src(i)) ranges.erase(at);
  }
  if (n->op == Op::kStore) std::erase_if(ranges, IsLane);  // It happens for each of them.
  if (n->op == Op::kRange) ranges.push_back(n);            // Its id is above those of its sources.
}

}  // namespace

absl::Span<const Ref> RangesOf(Graph& g, Ref root) {
  if (internal::Has(root, Facts::kHaveRanges)) return KnownRanges(root);
  Scratch scratch;
  const auto compute = [&g, &scratch](Ref n) {
    Collect(n, scratch);
    const std::vector<Ref>& ranges = scratch.ranges;
    Facts* f = g.MutableFacts(n);
    f->num_ranges = static_cast<uint32_t>(ranges.size());
    // Most nodes have the ranges of one of their sources: share.
    for (Ref s : n->src()) {
      if (KnownRanges(s) == absl::MakeConstSpan(ranges)) f->ranges = s->facts->ranges;
    }
    if (f->ranges == nullptr && !ranges.empty()) {
      Ref* copy = g.side_memory().AllocateArray<Ref>(ranges.size());
      std::copy(ranges.begin(), ranges.end(), copy);
      f->ranges = copy;
    }
    f->have |= Facts::kHaveRanges;
    return true;
  };
  internal::ComputeBottomUp(root, Facts::kHaveRanges, [](Ref n) { return n->src(); }, compute);
  return KnownRanges(root);
}

std::optional<AddressSpace> AddressSpaceOf(Ref n) {
  while (n->op == Op::kIndex || n->op == Op::kAfter) n = n->src(0);
  switch (n->op) {
    case Op::kParam:
      return ParamOf(n).space;
    case Op::kBuffer:
    case Op::kInput:
      return AddressSpace::kGlobal;
    default:
      return std::nullopt;
  }
}

bool DependsOn(Graph& g, Ref n, Ref range) {
  const absl::Span<const Ref> ranges = RangesOf(g, n);
  return std::find(ranges.begin(), ranges.end(), range) != ranges.end();
}

std::vector<Ref> RangesBelow(Ref root) {
  std::vector<Ref> found;
  Visit(root, [&](Ref n) {
    if (n->Is(Op::kRange)) found.push_back(n);
    return true;
  });
  std::sort(found.begin(), found.end(),
            [](Ref a, Ref b) { return a->arg.range().axis_id < b->arg.range().axis_id; });
  return found;
}

}  // namespace kiln::uop
