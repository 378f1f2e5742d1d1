#include "core/codegen/bounds_under.h"

#include <algorithm>

#include "core/dtype/status.h"
#include "core/symbolic/knowledge.h"
#include "core/symbolic/simplify.h"

namespace kiln::codegen::internal {
namespace {

Bounds Intersection(Bounds a, Bounds b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

}  // namespace

Ref Conjunction(Graph& g, Ref p, Ref q) {
  if (p == nullptr || p == q) return q;
  return q == nullptr ? p : g.And(p, q);
}

absl::StatusOr<std::optional<Bounds>> BoundsUnder(Graph& g, Ref n, Ref condition) {
  Bounds b = SafeBoundsOf(g, n);
  if (condition == nullptr) return b;
  const std::optional<symbolic::Knowledge> known = symbolic::KnowledgeOf(g, condition);
  if (!known.has_value()) return std::nullopt;
  // The same expression of variables that have the bounds which the condition gives, as it is and
  // simplified: each may have the tighter bounds.
  symbolic::StandIns stand_ins(g, *known, n);
  Ref shadow = stand_ins.Substitute(n);
  b = Intersection(b, SafeBoundsOf(g, shadow));
  KILN_ASSIGN_OR_RETURN(shadow, symbolic::Simplify(g, shadow, symbolic::Effort::kSymbolic));
  b = Intersection(b, SafeBoundsOf(g, shadow));
  if (b.lo > b.hi) return std::nullopt;
  return b;
}

}  // namespace kiln::codegen::internal
