#include "core/codegen/kernel_ranges.h"

#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {

absl::Span<const Ref> EndedRanges(Ref n) {
  if (n->Is(Op::kReduce)) return n->src().subspan(1);
  if (!n->Is(Op::kStore)) return {};
  const bool gated = n->num_src > 2 && n->src(2)->dtype == DType::kBool;
  return n->src().subspan(gated ? 3 : 2);
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

}  // namespace kiln::codegen::internal
