// Quotients and remainders by an expression.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/symbolic/division.h"
#include "core/symbolic/nary.h"

namespace kiln::symbolic {
namespace {

using Factors = absl::InlinedVector<Ref, 4>;

// The factors of a product; constants are in coefficients.
Factors FactorsOf(Ref n) {
  Factors factors;
  while (n->op == Op::kMul) {
    if (n->src(1)->op == Op::kMul) return {n};  // Not a normal form.
    factors.push_back(n->src(1));
    n = n->src(0);
  }
  factors.push_back(n);
  return factors;
}

// `factors` without those of `divisor`; null if one is missing.
std::optional<Factors> Without(Factors factors, const Factors& divisor) {
  for (Ref f : divisor) {
    auto it = std::find(factors.begin(), factors.end(), f);
    if (it == factors.end()) return std::nullopt;
    factors.erase(it);
  }
  return factors;
}

// Adds a product times `coef`; like terms are not merged. False if it is too large.
bool AddProduct(Graph& g, DType d, const Factors& factors, Int128 coef, Affine& sum) {
  Term t{nullptr, 1};
  if (!factors.empty()) {
    Ref product = MakeProduct(g, d, factors);
    if (product == nullptr) return false;
    if (product->IsConst()) {
      t.coef = product->arg.scalar().AsWide(d);
    } else if (const std::optional<Term> split = SplitFactor(product)) {
      t = *split;
    } else {
      return false;
    }
  }
  if (!FitsInt64(t.coef * coef)) return false;
  if (t.base == nullptr) {
    sum.constant += t.coef * coef;
  } else {
    sum.terms.push_back({t.base, t.coef * coef});
  }
  return true;
}

// The divisor as one product with a constant.
struct Divisor {
  Factors factors;
  Int128 coef;
};
std::optional<Divisor> DivisorOf(const Affine& y, Ref node) {
  if (y.terms.size() == 1 && y.constant == 0)
    return Divisor{FactorsOf(y.terms[0].base), y.terms[0].coef};
  return Divisor{{node}, 1};
}

// Something that x never exceeds: a loop counter is less than its end. Null if a number is too
// large.
std::optional<Affine> UpperBound(Graph& g, DType d, const Affine& x) {
  Affine result;
  result.constant = x.constant;
  for (const Term& t : x.terms) {
    const Factors factors = FactorsOf(t.base);
    const auto counter = std::find_if(factors.begin(), factors.end(), [](Ref f) {
      return f->op == Op::kRange || f->op == Op::kSpecial;
    });
    const bool others_nonnegative = std::all_of(factors.begin(), factors.end(),
                                                [&](Ref f) { return SafeBoundsOf(g, f).lo >= 0; });
    if (t.coef < 0 || counter == factors.end() || !others_nonnegative) {
      result.terms.push_back(t);
      continue;
    }
    // counter * rest <= end * rest - rest
    Factors rest = *Without(factors, {*counter});
    const std::optional<Affine> end = AffineOf(g, (*counter)->src(0));
    if (rest.empty() && end) {
      for (const Term& u : end->terms) result.terms.push_back({u.base, u.coef * t.coef});
      result.constant += (end->constant - 1) * t.coef;
      continue;
    }
    if (!AddProduct(g, d, rest, -t.coef, result)) return std::nullopt;
    rest.push_back((*counter)->src(0));
    if (!AddProduct(g, d, rest, t.coef, result)) return std::nullopt;
  }
  result.MergeLikeTerms();
  return result;
}

// 0 <= x < y.
Ref FoldSmaller(const Division& d, const Affine& y) {
  if (!d.IsNonNegative() || d.dtype() != DType::kIndex) return nullptr;
  const std::optional<Affine> most = UpperBound(d.g, d.dtype(), d.x);
  if (!most || BoundsOf(d.g, Combine(y, 1, *most, -1)).lo < 1) return nullptr;
  return d.is_mod() ? d.n->src(0) : IntConst(d.g, d.dtype(), 0);
}

// (q*y + r) // y -> q + r//y and (q*y + r) % y -> r % y, where both x and r are >= 0, or r is 0.
Ref SplitMultiples(const Division& d, const Affine& y, const Bounds& by) {
  if (by.lo <= 0 || d.dtype() != DType::kIndex) return nullptr;
  const std::optional<Divisor> divisor = DivisorOf(y, d.n->src(1));
  if (!divisor) return nullptr;
  Affine quotient, rest;
  rest.constant = d.x.constant;
  for (const Term& t : d.x.terms) {
    const std::optional<Factors> left =
        t.coef % divisor->coef == 0 ? Without(FactorsOf(t.base), divisor->factors) : std::nullopt;
    if (left) {
      if (!AddProduct(d.g, d.dtype(), *left, t.coef / divisor->coef, quotient)) return nullptr;
    } else {
      rest.terms.push_back(t);
    }
  }
  if (rest.terms.size() == d.x.terms.size()) return nullptr;
  quotient.MergeLikeTerms();
  const bool is_multiple = rest.IsConstant() && rest.constant == 0;
  if (is_multiple)
    return d.is_mod() ? IntConst(d.g, d.dtype(), 0) : ToNode(d.g, d.dtype(), quotient);
  if (!d.IsNonNegative() || BoundsOf(d.g, rest).lo < 0) return nullptr;
  Ref r = ToNode(d.g, d.dtype(), rest);
  if (r == nullptr) return nullptr;
  Ref small = d.g.Make(d.n->op, d.dtype(), {r, d.n->src(1)});
  if (d.is_mod()) return small;
  return MakeSum(d.g, d.dtype(), Combine(quotient, 1, Affine{{{small, 1}}, 0}, 1).terms,
                 quotient.constant);
}

// (x*k) // (y*k) -> x // y and (x*k) % (y*k) -> (x%y) * k for a constant k > 1.
Ref FoldConstantFactor(const Division& d, const Affine& y) {
  const Int128 k = GcdOfCoefs(d.x, GcdOfCoefs(y, CommonDivisor(d.x.constant, y.constant)));
  if (k <= 1) return nullptr;
  Ref a = ToNode(d.g, d.dtype(), DivideExactly(d.x, k)),
      b = ToNode(d.g, d.dtype(), DivideExactly(y, k));
  if (a == nullptr || b == nullptr) return nullptr;
  return MakeSum(d.g, d.dtype(), {{d.g.Make(d.n->op, d.dtype(), {a, b}), d.is_mod() ? k : 1}}, 0);
}

// (x*f) // (y*f) -> x // y for a factor f that is never 0.
Ref FoldCommonFactor(const Division& d, const Affine& y) {
  if (y.terms.size() != 1 || y.constant != 0 || d.x.constant != 0 || d.dtype() != DType::kIndex)
    return nullptr;
  for (Ref f : FactorsOf(y.terms[0].base)) {
    if (SafeBoundsOf(d.g, f).Contains(0)) continue;
    Affine a, b;
    if (!AddProduct(d.g, d.dtype(), *Without(FactorsOf(y.terms[0].base), {f}), y.terms[0].coef, b))
      return nullptr;
    const bool divides_all = std::all_of(d.x.terms.begin(), d.x.terms.end(), [&](const Term& t) {
      const std::optional<Factors> left = Without(FactorsOf(t.base), {f});
      return left && AddProduct(d.g, d.dtype(), *left, t.coef, a);
    });
    if (!divides_all) continue;
    a.MergeLikeTerms();
    Ref x = ToNode(d.g, d.dtype(), a), divisor = ToNode(d.g, d.dtype(), b);
    if (x == nullptr || divisor == nullptr) return nullptr;
    Ref division = d.g.Make(d.n->op, d.dtype(), {x, divisor});
    return d.is_mod() ? d.g.Mul(division, f) : division;
  }
  return nullptr;
}

}  // namespace

Ref FoldByVariable(const Division& d) {
  const std::optional<Affine> y = AffineOf(d.g, d.n->src(1));
  if (!y || d.x.IsConstant()) return nullptr;
  Ref result = FoldSmaller(d, *y);
  if (result == nullptr) result = SplitMultiples(d, *y, SafeBoundsOf(d.g, d.n->src(1)));
  if (result == nullptr) result = FoldConstantFactor(d, *y);
  if (result == nullptr) result = FoldCommonFactor(d, *y);
  return result;
}

}  // namespace kiln::symbolic
