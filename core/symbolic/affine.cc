#include "core/symbolic/affine.h"

#include <algorithm>
#include <vector>

#include "core/dtype/cast.h"
#include "core/symbolic/exact.h"
#include "core/symbolic/sum.h"
#include "core/uop/interval.h"

namespace kiln::symbolic {
namespace {

// Sources have smaller ids than users: taking the largest id first meets every node once, with its
// whole coefficient.
struct ById {
  bool operator()(const Term& a, const Term& b) const { return a.base->id < b.base->id; }
};

}  // namespace

Int128 Affine::CoefOf(Ref base) const {
  for (const Term& t : terms) {
    if (t.base == base) return t.coef;
  }
  return 0;
}

void Affine::MergeLikeTerms() {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.base->id > b.base->id; });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term t = terms[i++];
    while (i < terms.size() && terms[i].base == t.base) t.coef += terms[i++].coef;
    if (t.coef != 0) terms[kept++] = t;
  }
  terms.resize(kept);
}

std::optional<Affine> AffineOf(Graph& g, Ref n) {
  if (!dtype::IsInteger(n->dtype)) return std::nullopt;
  Affine result;
  Terms heap = {{n, 1}};
  auto push = [&](Ref base, Int128 coef) {
    heap.push_back({base, coef});
    std::push_heap(heap.begin(), heap.end(), ById());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), ById());
    Term t = heap.back();
    heap.pop_back();
    while (!heap.empty() && heap.front().base == t.base) {
      t.coef += heap.front().coef;
      std::pop_heap(heap.begin(), heap.end(), ById());
      heap.pop_back();
    }
    if (!FitsInt64(t.coef)) return std::nullopt;
    if (t.coef == 0) continue;
    if (t.base->IsConst()) {
      // At most 64 bits each, so that the sum of any number that fits memory is exact.
      const Int128 product = t.coef * t.base->arg.scalar().AsWide(t.base->dtype);
      result.constant += product;
    } else if (t.base->op == Op::kAdd && IsExact(g, t.base)) {
      push(t.base->src(0), t.coef);
      push(t.base->src(1), t.coef);
    } else if (t.base->op == Op::kMul && t.base->src(1)->IsConst() && IsExact(g, t.base)) {
      const Int128 factor = t.base->src(1)->arg.scalar().AsWide(t.base->dtype);
      if (!FitsInt64(factor) || !FitsInt64(t.coef * factor)) return std::nullopt;
      push(t.base->src(0), t.coef * factor);
    } else {
      result.terms.push_back(t);
    }
  }
  if (!FitsInt64(result.constant)) return std::nullopt;
  return result;
}

Ref ToNode(Graph& g, DType d, const Affine& a) {
  if (d != DType::kIndex && !FitsDType(d, BoundsOf(g, a))) return nullptr;
  return MakeSum(g, d, a.terms, a.constant);
}

Affine Combine(const Affine& a, Int128 factor, const Affine& b, Int128 other) {
  Affine result;
  result.constant = a.constant * factor + b.constant * other;
  for (const Term& t : a.terms) {
    if (factor != 0) result.terms.push_back({t.base, t.coef * factor});
  }
  for (const Term& t : b.terms) {
    if (other != 0) result.terms.push_back({t.base, t.coef * other});
  }
  if (!a.terms.empty() && !b.terms.empty()) result.MergeLikeTerms();
  return result;
}

Affine DivideExactly(const Affine& a, Int128 d) {
  Affine result = a;
  for (Term& t : result.terms) t.coef /= d;
  result.constant /= d;
  return result;
}

Bounds BoundsOf(Graph& g, const Affine& a) {
  Bounds result{a.constant, a.constant};
  for (const Term& t : a.terms) {
    const Bounds scaled = uop::internal::Mul(uop::SafeBoundsOf(g, t.base), {t.coef, t.coef});
    result = uop::internal::Add(result, scaled);
  }
  return result;
}

Int128 GcdOfCoefs(const Affine& a, Int128 g) {
  for (const Term& t : a.terms) g = CommonDivisor(g, t.coef);
  return g;
}

Ref IntConst(Graph& g, DType d, Int128 v) {
  const std::optional<Scalar> s = dtype::WrapInteger(v, d);
  return s ? g.Const(d, *s) : nullptr;
}

std::optional<Term> SplitFactor(Ref n) {
  Term t{n, 1};
  while (t.base->op == Op::kMul && t.base->src(1)->IsConst() && !t.base->src(0)->IsConst()) {
    // Only the low 64 bits matter on fixed widths, and those are right in unsigned arithmetic.
    const Int128 factor = t.base->src(1)->arg.scalar().AsWide(n->dtype);
    const Int128 product =
        static_cast<Int128>(static_cast<UInt128>(t.coef) * static_cast<UInt128>(factor));
    const std::optional<Scalar> wrapped = dtype::WrapInteger(product, n->dtype);
    if (!wrapped) return std::nullopt;
    t.coef = wrapped->AsWide(n->dtype);
    t.base = t.base->src(0);
  }
  return t;
}

Int128 FloorDiv(Int128 a, Int128 b) { return a / b - (a % b < 0 ? 1 : 0); }
Int128 FloorMod(Int128 a, Int128 b) { return a % b + (a % b < 0 ? b : 0); }
Int128 CeilDiv(Int128 a, Int128 b) { return a / b + (a % b > 0 ? 1 : 0); }

Int128 CommonDivisor(Int128 a, Int128 b) {
  while (b != 0) {
    const Int128 r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

}  // namespace kiln::symbolic
