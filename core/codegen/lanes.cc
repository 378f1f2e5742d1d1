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

// How often the instruction of `n` runs, for each choice of the lanes that are a vector: once for
// each combination of loops and of the other lanes, and for each lane of the vector where that is no
// vector in memory.
void AddCosts(Graph& g, Ref n, absl::Span<const Ref> candidates, std::vector<double>& costs) {
  const bool is_access = n->Is(Op::kLoad) || n->Is(Op::kStore);
  const bool computes = uop::IsAlu(n->op) && n->dtype != DType::kIndex;
  if (!is_access && !computes && !n->Is(Op::kReduce)) return;
  // A reduction takes place where its operand is.
  const absl::Span<const Ref> ranges = uop::RangesOf(g, n->Is(Op::kStore)    ? n->src(0)
                                                        : n->Is(Op::kReduce) ? n->src(0)
                                                                             : n);
  double times = 1;
  for (Ref r : ranges) times *= std::max<double>(1, static_cast<double>(VMax(g, r->src(0))));
  for (size_t i = 0; i < candidates.size(); ++i) {
    Ref lane = candidates[i];
    if (std::find(ranges.begin(), ranges.end(), lane) == ranges.end()) {
      costs[i] += times;
      continue;
    }
    bool is_vector = true;
    if (is_access && DependsOn(g, n->src(0)->src(1), lane)) {
      const std::optional<symbolic::Affine> sum = symbolic::AffineOf(g, n->src(0)->src(1));
      is_vector = sum.has_value() && sum->CoefOf(lane) == 1;
    }
    // Lanes of their own have to be put together, or taken apart.
    costs[i] += is_vector ? times / static_cast<double>(ConstEnd(lane)) : 2 * times;
  }
}

}  // namespace

int32_t ChooseVectorAxis(Graph& g, Ref root) {
  std::vector<Ref> candidates;
  for (Ref lane : RangesBelow(root)) {
    if (IsLane(lane) && ConstEnd(lane) >= 2 && std::has_single_bit(uint64_t(ConstEnd(lane)))) {
      candidates.push_back(lane);
    }
  }
  if (candidates.size() < 2) return candidates.empty() ? -1 : AxisId(candidates[0]);
  std::vector<double> costs(candidates.size());
  uop::Visit(root, [&](Ref n) {
    AddCosts(g, n, candidates, costs);
    return true;
  });
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i) {
    const bool is_wider = ConstEnd(candidates[i]) >= ConstEnd(candidates[best]);
    if (costs[i] < costs[best] || (costs[i] == costs[best] && is_wider)) best = i;
  }
  return AxisId(candidates[best]);
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
