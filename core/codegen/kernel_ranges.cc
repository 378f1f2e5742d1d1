#include "core/codegen/kernel_ranges.h"

#include <algorithm>
#include <limits>

#include "core/dtype/cast.h"
#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {

absl::Span<const Ref> EndedRanges(Ref n) {
  if (n->Is(Op::kReduce)) return n->src().subspan(1);
  if (!n->Is(Op::kStore)) return {};
  const bool gated = n->num_src > 2 && n->src(2)->dtype == DType::kBool;
  return n->src().subspan(gated ? 3 : 2);
}

std::vector<Ref> RangesBelow(Ref root) {
  std::vector<Ref> found;
  uop::Visit(root, [&](Ref n) {
    if (n->Is(Op::kRange)) found.push_back(n);
    return true;
  });
  std::sort(found.begin(), found.end(), [](Ref a, Ref b) { return AxisId(a) < AxisId(b); });
  return found;
}

bool DependsOn(Graph& g, Ref n, Ref range) {
  const absl::Span<const Ref> ranges = uop::RangesOf(g, n);
  return std::find(ranges.begin(), ranges.end(), range) != ranges.end();
}

Ref WithEndedRanges(Graph& g, Ref n, absl::Span<const Ref> ranges) {
  const size_t kept = n->num_src - EndedRanges(n).size();
  absl::InlinedVector<Ref, 8> src(n->src().begin(), n->src().begin() + static_cast<int64_t>(kept));
  src.insert(src.end(), ranges.begin(), ranges.end());
  return g.WithSources(n, src);
}

Ref ReplaceRanges(Graph& g, Ref root, absl::Span<const RangeReplacement> replacements) {
  uop::NodeMap<Ref> now;                        // Null: itself.
  uop::NodeMap<const RangeReplacement*> ended;  // Of the ranges.
  for (const RangeReplacement& r : replacements) {
    now[r.range] = r.value;
    ended[r.range] = &r;
  }
  absl::InlinedVector<Ref, 8> src;
  for (Ref n : uop::Toposort(root)) {
    if (now.Get(n) != nullptr) continue;
    const size_t values = n->num_src - EndedRanges(n).size();
    src.clear();
    bool changed = false;
    for (size_t i = 0; i < n->num_src; ++i) {
      Ref s = n->src(static_cast<int>(i));
      Ref replaced = now.Get(s);
      changed = changed || replaced != nullptr;
      if (const RangeReplacement* r = i < values ? nullptr : ended.Get(s); r != nullptr) {
        src.insert(src.end(), r->ranges.begin(), r->ranges.end());
      } else {
        src.push_back(replaced != nullptr ? replaced : s);
      }
    }
    if (changed) now[n] = g.WithSources(n, src);
  }
  Ref replaced = now.Get(root);
  return replaced != nullptr ? replaced : root;
}

Ref ReduceIdentity(Graph& g, Op op, DType d) {
  if (dtype::IsFloat(d)) {
    const double lowest = dtype::RoundToFloat(-std::numeric_limits<double>::infinity(), d);
    return g.Const(d, Scalar::Float(op == Op::kAdd ? 0 : op == Op::kMul ? 1 : lowest));
  }
  if (op != Op::kMax) return g.Int(d, op == Op::kMul ? 1 : 0);
  return g.Int(d, static_cast<int64_t>(dtype::MinValue(d)));
}

}  // namespace kiln::codegen::internal
