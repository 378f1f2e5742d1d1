#include "core/symbolic/divmod.h"

#include <algorithm>
#include <optional>

#include "core/symbolic/division.h"
#include "core/symbolic/sum.h"
#include "core/uop/interval.h"

namespace kiln::symbolic {
namespace {

// The quotient if it is the same for all values in the bounds.
std::optional<Int128> ConstantQuotient(const Bounds& x, const Bounds& y) {
  if (!IsFinite(x) || !IsFinite(y) || y.Contains(0)) return std::nullopt;
  // Truncating division is monotone in both operands while the signs stay, so its extremes are at
  // the corners. Where x changes sign, 0 lies between them.
  const Int128 q = x.lo / y.lo;
  if (x.lo / y.hi != q || x.hi / y.lo != q || x.hi / y.hi != q) return std::nullopt;
  return q;
}

// x op -|y| in terms of x op |y|, or -|x| op y in terms of |x| op y.
Ref WithSign(const Division& d, Ref x, Ref y, bool negate) {
  if (x == nullptr || y == nullptr) return nullptr;
  Ref positive = d.g.Make(d.n->op, d.dtype(), {x, y});
  return negate ? MakeSum(d.g, d.dtype(), {{positive, -1}}, 0) : positive;
}

// -x as a sum. Null if it may not fit.
Ref Negated(Graph& g, Ref x) {
  const std::optional<Affine> a = AffineOf(g, x);
  return a ? ToNode(g, x->dtype, Scale(*a, -1)) : nullptr;
}

// Moves signs out, so that what is divided is positive where that is known.
Ref FoldSigns(const Division& d) {
  Ref x = d.n->src(0), y = d.n->src(1);
  const Bounds by = SafeBoundsOf(d.g, y);
  if (by.hi < 0) return WithSign(d, x, Negated(d.g, y), !d.is_mod());
  if (d.bounds.hi <= 0 && d.bounds.lo < 0)
    return WithSign(d, ToNode(d.g, d.dtype(), Scale(d.x, -1)), y, true);
  return nullptr;
}

Ref FoldByBounds(const Division& d) {
  const std::optional<Int128> q = ConstantQuotient(d.bounds, SafeBoundsOf(d.g, d.n->src(1)));
  if (!q) return nullptr;
  if (!d.is_mod()) return IntConst(d.g, d.dtype(), *q);
  if (*q == 0) return d.n->src(0);
  if (!FitsInt64(*q)) return nullptr;
  return MakeSum(d.g, d.dtype(), {{d.n->src(0), 1}, {d.n->src(1), -*q}}, 0);
}

}  // namespace

Ref Assemble(const Division& d, const Affine& outer, const Affine& inner, Int128 divisor,
             Int128 coef) {
  Affine sum = outer;
  if (divisor == 1) {
    if (!d.is_mod()) sum = Combine(outer, 1, inner, coef);
  } else if (inner.IsConstant()) {
    sum.constant += coef * (d.is_mod() ? inner.constant % divisor : inner.constant / divisor);
  } else {
    Ref numerator = ToNode(d.g, d.dtype(), inner);
    if (numerator == nullptr || !FitsDType(d.dtype(), {divisor, divisor}) || !FitsInt64(divisor))
      return nullptr;
    Ref division = d.g.Make(d.n->op, d.dtype(), {numerator, IntConst(d.g, d.dtype(), divisor)});
    sum = Combine(outer, 1, Affine{{{division, coef}}, 0}, 1);
  }
  return MakeSum(d.g, d.dtype(), sum.terms, sum.constant);
}

Ref FoldDivMod(Graph& g, Ref n) {
  Ref x = n->src(0), y = n->src(1);
  if (!dtype::IsInteger(n->dtype) || IsIntConst(y, 0) || (x->IsConst() && y->IsConst()))
    return nullptr;
  std::optional<Affine> a = AffineOf(g, x);
  if (!a) return nullptr;
  // The sum may be tighter than the node where terms cancel, the node where a product is taken
  // apart.
  const Bounds by_sum = BoundsOf(g, *a), by_node = SafeBoundsOf(g, x);
  const Bounds bounds = {std::max(by_sum.lo, by_node.lo), std::min(by_sum.hi, by_node.hi)};
  const Division d{g, n, *std::move(a), bounds};
  Ref result = FoldByBounds(d);
  if (result == nullptr) result = FoldSigns(d);
  if (result == nullptr && y->IsConst()) {
    const Int128 c = y->arg.scalar().AsWide(n->dtype);
    if (c > 0) result = FoldByConstant(d, c);
  } else if (result == nullptr) {
    result = FoldByVariable(d);
  }
  return result == n ? nullptr : result;
}

}  // namespace kiln::symbolic
