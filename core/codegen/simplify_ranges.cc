#include "core/codegen/simplify_ranges.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/codegen/kernel_ranges.h"
#include "core/dtype/status.h"
#include "core/symbolic/affine.h"
#include "core/uop/constants.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {
namespace {

// What a pass over the kernel finds.
struct Uses {
  std::vector<Ref> ranges;   // By axis id.
  std::vector<Ref> enders;   // STOREs and REDUCEs.
  std::vector<Ref> indices;  // Index expressions that something else is computed from.
};

Uses UsesIn(Ref root) {
  Uses uses;
  uop::NodeMap<bool> seen;
  for (Ref n : uop::Toposort(root)) {
    if (n->Is(Op::kRange)) uses.ranges.push_back(n);
    const absl::Span<const Ref> ended = EndedRanges(n);
    if (!ended.empty()) uses.enders.push_back(n);
    if (n->dtype == DType::kIndex && !n->Is(Op::kRange)) continue;
    const absl::Span<const Ref> values = n->src().subspan(0, n->num_src - ended.size());
    for (Ref s : values) {
      if (s->dtype != DType::kIndex || s->IsConst() || seen.Get(s)) continue;
      seen[s] = true;
      uses.indices.push_back(s);
    }
  }
  std::sort(uses.ranges.begin(), uses.ranges.end(),
            [](Ref a, Ref b) { return AxisId(a) < AxisId(b); });
  return uses;
}

bool Has(absl::Span<const Ref> nodes, Ref n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

int CountDivisions(Ref n) {
  int count = 0;
  uop::Visit(n, [&](Ref m) {
    count += m->Is(Op::kIDiv) || m->Is(Op::kMod) ? 1 : 0;
    return true;
  });
  return count;
}

// Two ranges that may become one: outer * size(inner) + inner.
class Pair {
 public:
  Pair(Graph& g, Ref outer, Ref inner) : g_(g), outer_(outer), inner_(inner) {
    Ref size = inner->src(0);
    Ref end = outer->src(0)->IsConst() && size->IntValue() < (int64_t{1} << 40) &&
                      outer->src(0)->IntValue() < (int64_t{1} << 22)
                  ? g.Index(outer->src(0)->IntValue() * size->IntValue())
                  : g.Mul(outer->src(0), size);
    merged_ = g.Range(end, AxisId(outer), TypeOf(outer));
  }

  bool EndTogether(absl::Span<const Ref> enders) const {
    return std::all_of(enders.begin(), enders.end(), [this](Ref n) {
      return Has(EndedRanges(n), outer_) == Has(EndedRanges(n), inner_);
    });
  }

  absl::StatusOr<bool> FitsIndex(Ref index) {
    if (!DependsOn(g_, index, outer_) && !DependsOn(g_, index, inner_)) return true;
    const std::optional<symbolic::Affine> sum = symbolic::AffineOf(g_, index);
    if (!sum.has_value()) return false;
    bool simple = true;
    for (const symbolic::Term& t : sum->terms) {
      if (t.base == outer_ || t.base == inner_) continue;
      if (DependsOn(g_, t.base, outer_) || DependsOn(g_, t.base, inner_)) simple = false;
    }
    if (simple) return sum->CoefOf(outer_) == sum->CoefOf(inner_) * ConstEnd(inner_);
    KILN_ASSIGN_OR_RETURN(Ref merged,
                          symbolic::Simplify(g_, ReplaceRanges(g_, index, Replacements()),
                                             symbolic::Effort::kSymbolic));
    return CountDivisions(merged) <= CountDivisions(index);
  }

  Ref Merge(Ref root) { return ReplaceRanges(g_, root, Replacements()); }

 private:
  std::vector<RangeReplacement> Replacements() {
    return {{outer_, g_.IDiv(merged_, inner_->src(0)), {merged_}},
            {inner_, g_.Mod(merged_, inner_->src(0)), {}}};
  }

  Graph& g_;
  Ref outer_, inner_, merged_;
};

// The kernel with one pair merged; null if none can be.
absl::StatusOr<Ref> MergeOnePair(Graph& g, Ref root, symbolic::Math math) {
  const Uses uses = UsesIn(root);
  for (Ref outer : uses.ranges) {
    for (Ref inner : uses.ranges) {
      if (outer == inner || TypeOf(outer) != TypeOf(inner) || ConstEnd(inner) <= 0) continue;
      Pair pair(g, outer, inner);
      if (!pair.EndTogether(uses.enders)) continue;
      bool fits = true;
      for (Ref index : uses.indices) {
        KILN_ASSIGN_OR_RETURN(fits, pair.FitsIndex(index));
        if (!fits) break;
      }
      if (fits) return symbolic::Simplify(g, pair.Merge(root), symbolic::Effort::kFull, math);
    }
  }
  return nullptr;
}

}  // namespace

Ref DropTrivialRanges(Graph& g, Ref root) {
  std::vector<RangeReplacement> once;
  for (Ref r : RangesBelow(root)) {
    if (ConstEnd(r) == 1) once.push_back({r, g.Index(0), {}});
  }
  if (!once.empty()) root = ReplaceRanges(g, root, once);
  const auto is_empty = [](Ref r) { return r->src(0)->IsConst() && ConstEnd(r) <= 0; };

  uop::NodeMap<Ref> now;
  std::vector<Ref> src;
  for (Ref n : uop::Toposort(root)) {
    src.clear();
    bool changed = false;
    const size_t values = n->num_src - EndedRanges(n).size();
    for (size_t i = 0; i < n->num_src; ++i) {
      Ref s = n->src(static_cast<int>(i));
      Ref replaced = now.Get(s);
      // A store that is no more, or a range that was found to be of one turn.
      const bool is_gone =
          (replaced != nullptr && replaced->Is(Op::kSink)) || (i >= values && !s->Is(Op::kRange));
      changed = changed || replaced != nullptr || is_gone;
      if (!is_gone) src.push_back(replaced != nullptr ? replaced : s);
    }
    const absl::Span<const Ref> ended =
        absl::MakeConstSpan(src).subspan(std::min(values, src.size()));
    const bool never = std::any_of(ended.begin(), ended.end(), is_empty);
    if (never && n->Is(Op::kReduce)) {
      now[n] = ReduceIdentity(g, n->arg.reduce().op, n->dtype);
    } else if (never) {
      now[n] = g.Make(Op::kSink, DType::kVoid, {});
    } else if (n->Is(Op::kReduce) && ended.empty()) {
      now[n] = src[0];
    } else if (n->Is(Op::kBind)) {
      now[n] = src[0];
    } else if (changed) {
      now[n] = g.WithSources(n, src);
    }
  }
  Ref replaced = now.Get(root);
  return replaced != nullptr ? replaced : root;
}

absl::StatusOr<Ref> MergeRanges(Graph& g, Ref root, symbolic::Math math) {
  while (true) {
    KILN_ASSIGN_OR_RETURN(Ref merged, MergeOnePair(g, root, math));
    if (merged == nullptr) return root;
    root = merged;
  }
}

}  // namespace kiln::codegen::internal
