#include "core/symbolic/bounds_under.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/dtype/status.h"
#include "core/symbolic/knowledge.h"
#include "core/symbolic/simplify.h"

namespace kiln::symbolic {
namespace {

// Of conditions with more clauses than this, the rest is not looked at; and so many of them are
// combined.
constexpr size_t kMaxClauses = 16;
constexpr int kMaxCombined = 8;

Bounds Intersection(Bounds a, Bounds b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Bounds Sum(Bounds a, Bounds b) {
  return {a.lo <= Bounds::kNegInf || b.lo <= Bounds::kNegInf ? Bounds::kNegInf : a.lo + b.lo,
          a.hi >= Bounds::kPosInf || b.hi >= Bounds::kPosInf ? Bounds::kPosInf : a.hi + b.hi};
}
Bounds Times(Bounds b, Int128 m) {
  const auto end = [m](Int128 v) {
    if (v > Bounds::kNegInf && v < Bounds::kPosInf) return v * m;
    return (v < 0) == (m < 0) ? Bounds::kPosInf : Bounds::kNegInf;
  };
  return m < 0 ? Bounds{end(b.hi), end(b.lo)} : Bounds{end(b.lo), end(b.hi)};
}

// Sums of variables that each clause of a conjunction bounds: also where both sides of a comparison vary.
std::vector<KnownSum> KnownSums(Graph& g, Ref condition) {
  std::vector<KnownSum> sums;
  std::vector<std::pair<Ref, bool>> open = {{condition, true}};  // A clause and its value.
  for (size_t i = 0; i < open.size() && open.size() <= kMaxClauses; ++i) {
    const auto [c, value] = open[i];
    if (c->Is(value ? Op::kAnd : Op::kOr)) {
      open.emplace_back(c->src(0), value);
      open.emplace_back(c->src(1), value);
    } else if (IsNegation(c)) {
      open.emplace_back(c->src(0), !value);
    } else if (c->Is(Op::kCmpLt) && dtype::IsInteger(c->src(0)->dtype)) {
      const auto a = AffineOf(g, c->src(0)), b = AffineOf(g, c->src(1));
      if (!a.has_value() || !b.has_value()) continue;
      Affine difference = Combine(*a, 1, *b, -1);
      const Int128 constant = std::exchange(difference.constant, 0);
      if (difference.IsConstant()) continue;
      sums.push_back({difference, value ? Bounds{Bounds::kNegInf, -1 - constant}
                                        : Bounds{-constant, Bounds::kPosInf}});
    }
  }
  return sums;
}

// By interval arithmetic on what is known of the bases.
Bounds IntervalOf(Graph& g, const Knowledge& known, const Affine& a) {
  Bounds b = {a.constant, a.constant};
  for (const Term& t : a.terms) b = Sum(b, Times(known.BoundsOf(g, t.base), t.coef));
  return b;
}

// Bounds of `a`, from which multiples of known sums are taken one by one, each the best for this end
// of the interval.
Int128 EndBy(Graph& g, const Knowledge& known, absl::Span<const KnownSum> sums, Affine a,
             bool is_low) {
  Bounds taken = {0, 0};
  const auto end_of = [is_low](const Bounds& b) { return is_low ? b.lo : b.hi; };
  Int128 best = end_of(IntervalOf(g, known, a));
  for (int round = 0; round < kMaxCombined; ++round) {
    const Affine before = a;
    const Bounds taken_before = taken;
    for (const KnownSum& k : sums) {
      for (const Term& t : k.sum.terms) {
        const Int128 times = before.CoefOf(t.base) / t.coef;
        if (times == 0) continue;
        const Affine rest = Combine(before, 1, k.sum, -times);
        const Bounds multiple = Sum(taken_before, Times(k.bounds, times));
        const Int128 end = end_of(Sum(IntervalOf(g, known, rest), multiple));
        if (is_low ? end <= best : end >= best) continue;
        best = end;
        a = rest;
        taken = multiple;
      }
    }
    if (a.terms.size() == before.terms.size() && a.constant == before.constant &&
        taken == taken_before)
      break;
  }
  return best;
}

}  // namespace

Ref Conjunction(Graph& g, Ref p, Ref q) {
  if (p == nullptr || p == q) return q;
  return q == nullptr ? p : g.And(p, q);
}

absl::StatusOr<std::optional<Bounds>> BoundsUnder(Graph& g, Ref n, Ref condition) {
  Bounds b = SafeBoundsOf(g, n);
  if (condition == nullptr) return b;
  const std::optional<Knowledge> known = KnowledgeOf(g, condition);
  if (!known.has_value()) return std::nullopt;
  // The same expression of variables that have the bounds which the condition gives, as it is and
  // simplified: each may have the tighter bounds.
  StandIns stand_ins(g, *known, n);
  Ref shadow = stand_ins.Substitute(n);
  b = Intersection(b, SafeBoundsOf(g, shadow));
  KILN_ASSIGN_OR_RETURN(shadow, Simplify(g, shadow, Effort::kSymbolic));
  b = Intersection(b, SafeBoundsOf(g, shadow));
  if (const std::optional<Affine> a = AffineOf(g, n); a.has_value()) {
    const std::vector<KnownSum> sums = KnownSums(g, condition);
    b = Intersection(b, {EndBy(g, *known, sums, *a, /*is_low=*/true),
                         EndBy(g, *known, sums, *a, /*is_low=*/false)});
  }
  if (b.lo > b.hi) return std::nullopt;
  return b;
}

}  // namespace kiln::symbolic
