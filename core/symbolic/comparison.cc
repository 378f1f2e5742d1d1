#include "core/symbolic/comparison.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "core/symbolic/affine.h"

namespace kiln::symbolic {
namespace {

bool AllNegative(const Affine& a) {
  return std::all_of(a.terms.begin(), a.terms.end(), [](const Term& t) { return t.coef < 0; });
}

// a < b if `is_less`, else a != b, in terms of a - b.
std::optional<bool> ByDifference(bool is_less, const Bounds& difference) {
  if (is_less) {
    if (difference.hi < 0) return true;
    if (difference.lo >= 0) return false;
    return std::nullopt;
  }
  if (!difference.Contains(0)) return true;
  if (difference.IsPoint()) return false;
  return std::nullopt;
}

// ** sum < constant **

// The condition e < k. Each step keeps it equivalent and says whether it changed anything.
struct UpperLimit {
  Graph& g;
  Affine e;
  Int128 k;

  bool MoveConstant() {
    if (e.constant == 0) return false;
    k -= e.constant;
    e.constant = 0;
    return true;
  }

  bool DivideByGcd() {
    const Int128 gcd = GcdOfCoefs(e);
    if (gcd <= 1) return false;
    e = DivideExactly(e, gcd);
    k = CeilDiv(k, gcd);
    return true;
  }

  // x//c < k iff x < k*c, and for k <= 0 iff x <= (k-1)*c, since quotients are truncated.
  bool OpenQuotient() {
    if (e.terms.size() != 1 || e.terms[0].coef != 1) return false;
    Ref n = e.terms[0].base;
    if (n->op != Op::kIDiv || !n->src(1)->IsConst()) return false;
    const Int128 c = n->src(1)->arg.scalar().AsWide(n->dtype);
    const Int128 limit = k > 0 ? k * c : (k - 1) * c + 1;
    if (c <= 0 || !FitsInt64(c) || !FitsInt64(limit)) return false;
    const std::optional<Affine> x = AffineOf(g, n->src(0));
    if (!x) return false;
    e = *x;
    k = limit;
    return true;
  }

  // Terms that don't matter beside a common factor of the others.
  bool DropSmallTerms() {
    constexpr size_t kMaxFactors = 16;  // More than occur in practice.
    std::vector<Int128> factors;
    for (const Term& t : e.terms) {
      if (t.coef > 1 || t.coef < -1) factors.push_back(t.coef < 0 ? -t.coef : t.coef);
    }
    std::sort(factors.begin(), factors.end(), std::greater<>());
    factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
    factors.resize(std::min(factors.size(), kMaxFactors));
    for (Int128 f : factors) {
      Affine multiples, rest;
      for (const Term& t : e.terms) (t.coef % f == 0 ? multiples : rest).terms.push_back(t);
      if (rest.terms.empty()) continue;
      const Bounds b = BoundsOf(g, rest);
      if (!IsFinite(b) || CeilDiv(k - b.lo, f) != CeilDiv(k - b.hi, f)) continue;
      e = DivideExactly(multiples, f);
      k = CeilDiv(k - b.lo, f);
      return true;
    }
    return false;
  }

  // A sum of things that are not negative is less than 1 iff all of them are 0, whatever their
  // factors.
  bool DropFactorsOfZeros() {
    if (k != 1) return false;
    bool changed = false;
    for (const Term& t : e.terms) {
      if (t.coef < 0 || SafeBoundsOf(g, t.base).lo < 0) return false;
      changed |= t.coef != 1;
    }
    for (Term& t : e.terms) t.coef = 1;
    return changed;
  }

  bool Tighten() {
    bool changed = false;
    while (MoveConstant() || DivideByGcd() || OpenQuotient() || DropSmallTerms() ||
           DropFactorsOfZeros())
      changed = true;
    return changed;
  }
};

// Nodes for the two sides; null if a number does not fit the dtype.
Ref Compare(Graph& g, Op op, Ref a, Ref b) {
  return a == nullptr || b == nullptr ? nullptr : g.Binary(op, a, b);
}
Ref Constant(Graph& g, DType d, Int128 k) {
  return FitsDType(d, {k, k}) ? IntConst(g, d, k) : nullptr;
}

// sum < k, or k < sum, which is not(sum < k+1).
Ref FoldThreshold(Graph& g, DType d, const Affine& sum, Int128 k, bool constant_is_left) {
  UpperLimit t{g, sum, constant_is_left ? k + 1 : k};
  if (!t.Tighten()) return nullptr;
  Affine difference = t.e;
  difference.constant -= t.k;
  if (const std::optional<bool> known = ByDifference(true, BoundsOf(g, difference)))
    return g.Bool(*known != constant_is_left);
  if (constant_is_left) return Compare(g, Op::kCmpLt, Constant(g, d, t.k - 1), ToNode(g, d, t.e));
  return Compare(g, Op::kCmpLt, ToNode(g, d, t.e), Constant(g, d, t.k));
}

// ** sum != constant **

Ref FoldUnequalConstant(Graph& g, DType d, const Affine& sum, Int128 k) {
  Affine e = sum;
  k -= e.constant;
  e.constant = 0;
  Int128 gcd = GcdOfCoefs(e);
  if (k % gcd != 0) return g.Bool(true);
  const bool is_nonnegative = std::all_of(e.terms.begin(), e.terms.end(), [&](const Term& t) {
    return t.coef > 0 && SafeBoundsOf(g, t.base).lo >= 0;
  });
  if (AllNegative(e)) gcd = -gcd;
  Affine reduced = DivideExactly(e, gcd);
  if (k == 0 && is_nonnegative) {
    for (Term& t : reduced.terms) t.coef = 1;
  }
  const bool changed = sum.constant != 0 ||
                       !std::equal(e.terms.begin(), e.terms.end(), reduced.terms.begin(),
                                   [](const Term& a, const Term& b) { return a.coef == b.coef; });
  if (!changed) return nullptr;
  return Compare(g, Op::kCmpNe, ToNode(g, d, reduced), Constant(g, d, k / gcd));
}

// ** sum op sum **

// What both sides share cancels, common factors go, the constant goes to the right.
Ref FoldSides(Graph& g, Op op, DType d, const Affine& a, const Affine& b) {
  const bool is_less = op == Op::kCmpLt;
  Affine left, right;
  Int128 k = b.constant - a.constant;
  bool changed = a.constant != 0;
  for (const Term& t : a.terms) {
    const Int128 other = b.CoefOf(t.base);
    changed |= other != 0;
    const Int128 net = t.coef - other;
    if (other == 0 || (net != 0 && (net > 0) == (t.coef > 0))) {
      left.terms.push_back({t.base, net});
    } else if (net != 0) {
      right.terms.push_back({t.base, -net});
    }
  }
  for (const Term& t : b.terms) {
    if (a.CoefOf(t.base) == 0) right.terms.push_back(t);
  }
  if (AllNegative(left) && AllNegative(right) && !(left.IsConstant() && right.IsConstant())) {
    // -x < -y + k iff y < x + k; -x != -y + k iff x != y - k.
    left = Scale(left, -1);
    right = Scale(right, -1);
    if (is_less) {
      std::swap(left, right);
    } else {
      k = -k;
    }
    changed = true;
  }
  const Int128 gcd = GcdOfCoefs(left, GcdOfCoefs(right));
  if (gcd > 1) {
    if (!is_less && k % gcd != 0) return g.Bool(true);
    left = DivideExactly(left, gcd);
    right = DivideExactly(right, gcd);
    k = CeilDiv(k, gcd);
    changed = true;
  }
  if (!changed) return nullptr;
  if (left.IsConstant()) return Compare(g, op, Constant(g, d, -k), ToNode(g, d, right));
  right.constant = k;
  return Compare(g, op, ToNode(g, d, left), ToNode(g, d, right));
}

}  // namespace

Ref FoldComparison(Graph& g, Ref n) {
  Ref x = n->src(0), y = n->src(1);
  const DType d = x->dtype;
  if (!dtype::IsInteger(d) || y->dtype != d) return nullptr;
  const bool is_less = n->op == Op::kCmpLt;
  const std::optional<Affine> a = AffineOf(g, x), b = AffineOf(g, y);
  if (!a || !b) return nullptr;
  const Bounds by_sum = BoundsOf(g, Combine(*a, 1, *b, -1));
  if (const std::optional<bool> known = ByDifference(is_less, by_sum)) return g.Bool(*known);

  Ref result = nullptr;
  if (b->IsConstant()) {
    result = is_less ? FoldThreshold(g, d, *a, b->constant, false)
                     : FoldUnequalConstant(g, d, *a, b->constant);
  } else if (a->IsConstant()) {
    result = is_less ? FoldThreshold(g, d, *b, a->constant, true)
                     : FoldUnequalConstant(g, d, *b, a->constant);
  } else {
    result = FoldSides(g, n->op, d, *a, *b);
  }
  return result == n ? nullptr : result;
}

}  // namespace kiln::symbolic
