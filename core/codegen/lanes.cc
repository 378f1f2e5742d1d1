#include "core/codegen/lanes.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "core/codegen/kernel_ranges.h"
#include "core/symbolic/affine.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {
namespace {

// When a term changes: 0 never, then outer loops, then reductions; lanes last.
int32_t InnermostAxis(Graph& g, Ref n) {
  int32_t innermost = 0;
  for (Ref r : uop::RangesOf(g, n)) {
    const int32_t id = std::clamp(AxisId(r) + 1, 0, (1 << 20) - 1);
    const int32_t order = IsLane(r)                        ? 1 << 21
                          : TypeOf(r) == AxisType::kReduce ? (1 << 20) + id
                                                           : id;
    innermost = std::max(innermost, order);
  }
  return innermost;
}

// Null if it is so already, or no sum of which anything is known.
Ref SplitElement(Graph& g, Ref element) {
  if (!element->Is(Op::kAdd) || element->dtype != DType::kIndex) return nullptr;
  const std::optional<symbolic::Affine> sum = symbolic::AffineOf(g, element);
  if (!sum.has_value()) return nullptr;
  struct Part {
    int32_t order;
    Ref node;
  };
  absl::InlinedVector<Part, 8> parts;
  for (const symbolic::Term& t : sum->terms) {
    Ref coef = symbolic::IntConst(g, DType::kIndex, t.coef);
    if (coef == nullptr) return nullptr;
    const int32_t order = IsLane(t.base) ? (1 << 22) + AxisId(t.base) : InnermostAxis(g, t.base);
    parts.push_back({order, t.coef == 1 ? t.base : g.Mul(t.base, coef)});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.order < b.order; });
  Ref constant = symbolic::IntConst(g, DType::kIndex, sum->constant);
  if (constant == nullptr || parts.empty()) return nullptr;
  Ref total = parts[0].node;
  for (size_t i = 1; i < parts.size(); ++i) total = g.Add(total, parts[i].node);
  return sum->constant == 0 ? total : g.Add(total, constant);
}

}  // namespace

int32_t ChooseVectorAxis(Graph& g, Ref root) {
  const std::vector<Ref> ranges = RangesBelow(root);
  Ref best = nullptr;
  int best_score = 0;
  std::vector<Ref> accesses;
  for (Ref lane : ranges) {
    if (!IsLane(lane) || ConstEnd(lane) < 2 || !std::has_single_bit(uint64_t(ConstEnd(lane)))) {
      continue;
    }
    if (accesses.empty()) {
      uop::Visit(root, [&](Ref n) {
        if (n->Is(Op::kIndex)) accesses.push_back(n->src(1));
        return true;
      });
    }
    int score = 0;
    for (Ref element : accesses) {
      if (!DependsOn(g, element, lane)) continue;
      const std::optional<symbolic::Affine> sum = symbolic::AffineOf(g, element);
      score += sum.has_value() && sum->CoefOf(lane) == 1 ? 2 : -1;
    }
    const bool better = best == nullptr || score > best_score ||
                        (score == best_score && ConstEnd(lane) >= ConstEnd(best));
    if (!better) continue;
    best = lane;
    best_score = score;
  }
  return best == nullptr ? -1 : AxisId(best);
}

Ref SplitElementIndices(Graph& g, Ref root) {
  uop::NodeMap<Ref> now;
  absl::InlinedVector<Ref, 4> src;
  for (Ref n : uop::Toposort(root)) {
    src.clear();
    bool changed = false;
    for (Ref s : n->src()) {
      Ref replaced = now.Get(s);
      src.push_back(replaced != nullptr ? replaced : s);
    }
    if (n->Is(Op::kIndex)) {
      if (Ref element = SplitElement(g, src[1]); element != nullptr) src[1] = element;
    }
    changed = absl::MakeConstSpan(src) != n->src();
    if (changed) now[n] = g.WithSources(n, src);
  }
  Ref replaced = now.Get(root);
  return replaced != nullptr ? replaced : root;
}

}  // namespace kiln::codegen::internal
