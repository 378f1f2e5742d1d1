#include "core/schedule/collapse.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/dtype/status.h"
#include "core/symbolic/affine.h"
#include "core/symbolic/simplify.h"
#include "core/uop/constants.h"
#include "core/uop/facts.h"
#include "core/uop/ranges.h"
#include "core/uop/substitute.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

// How deep a body is looked into for selections.
constexpr int kMaxDepth = 32;

bool IsZeroConst(Ref n) {
  if (!n->IsConst()) return false;
  return dtype::IsFloat(n->dtype) ? n->arg.scalar().AsFloat() == 0 : n->arg.integer() == 0;
}

// A comparison of the range with an index expression that does not depend on it.
struct Clause {
  enum Kind { kAtLeast, kBelow, kEqual, kNotEqual } kind;
  Ref bound;
};

// Sums over one range in closed form.
class Collapse {
 public:
  Collapse(Graph& g, Ref range) : g_(g), range_(range), end_(range->src(0)) {}

  // The sum of `x`; null if there is no closed form.
  Ref Sum(Ref x, int depth = kMaxDepth);

 private:
  Ref SumOfSelection(Ref condition, Ref x, int depth);
  std::optional<Clause> ClauseOf(Ref condition);
  std::optional<Clause> Solve(Ref difference, Clause::Kind kind);
  Ref AsIndex(Ref x);
  Ref Selected(Ref x, Ref at, Ref condition);
  Ref Count(Ref low, Ref high) { return g_.Max(g_.Sub(high, low), g_.Index(0)); }
  Ref Min(Ref a, Ref b) { return g_.Where(g_.Lt(a, b), a, b); }
  // `x` added up `count` times.
  Ref Times(Ref x, Ref count) {
    if (x->dtype == DType::kBool) return g_.And(x, g_.Lt(g_.Index(0), count));
    Ref sum = g_.Mul(x, g_.Cast(count, x->dtype));
    // No times infinity is nothing.
    const bool exact = !dtype::IsFloat(x->dtype) ||
                       (x->IsConst() && std::isfinite(x->arg.scalar().AsFloat())) ||
                       VMin(g_, count) > 0;
    return exact ? sum : g_.Where(g_.Lt(g_.Index(0), count), sum, ZeroOf(g_, x->dtype));
  }
  bool Varies(Ref n) { return uop::DependsOn(g_, n, range_); }

  Graph& g_;
  Ref range_, end_;
};

Ref Collapse::Sum(Ref x, int depth) {
  if (!Varies(x)) return Times(x, end_);
  if (depth == 0) return nullptr;
  switch (x->op) {
    case Op::kAdd: {
      if (x->dtype == DType::kBool) return nullptr;
      Ref a = Sum(x->src(0), depth - 1);
      if (a == nullptr) return nullptr;
      Ref b = Sum(x->src(1), depth - 1);
      return b == nullptr ? nullptr : g_.Add(a, b);
    }
    case Op::kMul: {
      for (int s = 0; s < 2; ++s) {
        Ref one = x->src(s), other = x->src(1 - s);
        if (!Varies(one)) {
          if (Ref sum = Sum(other, depth - 1); sum != nullptr) return g_.Mul(sum, one);
        }
        // Of what a condition selects, the product is selected.
        if (one->op == Op::kCast && one->src(0)->dtype == DType::kBool) {
          return SumOfSelection(one->src(0), other, depth);
        }
        if (one->op == Op::kWhere && IsZeroConst(one->src(2))) {
          return SumOfSelection(one->src(0), g_.Mul(one->src(1), other), depth);
        }
      }
      return nullptr;
    }
    case Op::kCast: {
      Ref inner = x->src(0);
      if (inner->dtype == DType::kBool) {
        return SumOfSelection(inner, ReduceIdentity(g_, Op::kMul, x->dtype), depth);
      }
      if (inner->op != Op::kWhere) return nullptr;
      return Sum(g_.Where(inner->src(0), g_.Cast(inner->src(1), x->dtype),
                          g_.Cast(inner->src(2), x->dtype)),
                 depth - 1);
    }
    case Op::kWhere:
      if (IsZeroConst(x->src(2))) return SumOfSelection(x->src(0), x->src(1), depth);
      if (IsZeroConst(x->src(1))) return SumOfSelection(g_.Not(x->src(0)), x->src(2), depth);
      if (!Varies(x->src(0))) {
        Ref a = Sum(x->src(1), depth - 1), b = Sum(x->src(2), depth - 1);
        return a == nullptr || b == nullptr ? nullptr : g_.Where(x->src(0), a, b);
      } else {
        Ref a = SumOfSelection(x->src(0), x->src(1), depth);
        Ref b = a == nullptr ? nullptr : SumOfSelection(g_.Not(x->src(0)), x->src(2), depth);
        return b == nullptr ? nullptr : g_.Add(a, b);
      }
    default:
      return nullptr;
  }
}

// The sum of `x` where `condition` holds.
Ref Collapse::SumOfSelection(Ref condition, Ref x, int depth) {
  std::vector<Ref> open = {condition};
  std::vector<Clause> clauses;
  Ref fixed = nullptr;  // What does not depend on the range.
  const auto add_fixed = [&](Ref c) { fixed = fixed == nullptr ? c : g_.And(fixed, c); };
  while (!open.empty()) {
    Ref c = open.back();
    open.pop_back();
    if (!Varies(c)) {
      add_fixed(c);
    } else if (c->op == Op::kAnd) {
      open.push_back(c->src(1));
      open.push_back(c->src(0));
    } else if (const auto clause = ClauseOf(c); clause.has_value()) {
      clauses.push_back(*clause);
    } else {
      return nullptr;
    }
  }

  // The selected element, if the condition names it.
  Ref at = nullptr;
  Ref low = g_.Index(0), high = end_;
  Ref unequal = nullptr;
  for (const Clause& c : clauses) {
    if (c.kind == Clause::kEqual && at == nullptr) {
      at = c.bound;
    } else if (c.kind == Clause::kEqual) {
      add_fixed(g_.Not(g_.Ne(at, c.bound)));
    } else if (c.kind == Clause::kAtLeast) {
      low = g_.Max(low, c.bound);
    } else if (c.kind == Clause::kBelow) {
      high = Min(high, c.bound);
    } else {
      if (unequal != nullptr) return nullptr;
      unequal = c.bound;
    }
  }
  if (at != nullptr) {
    Ref inside = g_.And(g_.Not(g_.Lt(at, low)), g_.Lt(at, high));
    if (unequal != nullptr) inside = g_.And(inside, g_.Ne(at, unequal));
    return Selected(x, at, fixed == nullptr ? inside : g_.And(fixed, inside));
  }
  if (Varies(x)) {
    // A selection of a selection.
    if (x->op != Op::kWhere || !IsZeroConst(x->src(2)) || depth == 0) return nullptr;
    return SumOfSelection(g_.And(condition, x->src(0)), x->src(1), depth - 1);
  }
  Ref count = Count(low, high);
  if (unequal != nullptr) {
    // All between the bounds but one, which may lie outside.
    Ref inside = g_.And(g_.Not(g_.Lt(unequal, low)), g_.Lt(unequal, high));
    count = g_.Sub(count, g_.Cast(inside, DType::kIndex));
  }
  Ref sum = Times(x, count);
  return fixed == nullptr ? sum : g_.Where(fixed, sum, ZeroOf(g_, sum->dtype));
}

// An integer expression in dtype index, with the same value; null if it may have wrapped.
Ref Collapse::AsIndex(Ref x) {
  if (x->dtype == DType::kIndex) return x;
  if (!dtype::IsInteger(x->dtype) || x->dtype == DType::kUInt64) return nullptr;
  if (x->op == Op::kCast && x->src(0)->dtype == DType::kIndex) {
    return uop::FullBounds(x->dtype).Contains(BoundsOf(g_, x->src(0))) ? x->src(0) : nullptr;
  }
  if (x->IsConst()) return g_.Index(x->IntValue());
  if (!Varies(x)) return g_.Cast(x, DType::kIndex);
  if ((x->op == Op::kAdd || x->op == Op::kMul) && BoundsHold(g_, x) &&
      uop::FullBounds(x->dtype).Contains(BoundsOf(g_, x))) {
    Ref a = AsIndex(x->src(0)), b = AsIndex(x->src(1));
    return a == nullptr || b == nullptr ? nullptr : g_.Binary(x->op, a, b);
  }
  return nullptr;
}

std::optional<Clause> Collapse::ClauseOf(Ref c) {
  bool negated = false;
  for (; IsNegation(c); c = c->src(0)) negated = !negated;
  if (!uop::IsComparison(c->op)) return std::nullopt;
  Ref a = AsIndex(c->src(0)), b = AsIndex(c->src(1));
  if (a == nullptr || b == nullptr) return std::nullopt;
  Ref difference = g_.Sub(a, b);
  switch (c->op) {
    case Op::kCmpLt:
      return Solve(difference, negated ? Clause::kAtLeast : Clause::kBelow);
    case Op::kCmpNe:
      return Solve(difference, negated ? Clause::kEqual : Clause::kNotEqual);
    default:
      return Solve(difference, negated ? Clause::kNotEqual : Clause::kEqual);
  }
}

// From `difference` (>= 0, < 0, == 0, != 0) to the range.
std::optional<Clause> Collapse::Solve(Ref difference, Clause::Kind kind) {
  std::optional<symbolic::Affine> sum = symbolic::AffineOf(g_, difference);
  if (!sum.has_value()) return std::nullopt;
  const Int128 coef = sum->CoefOf(range_);
  sum->terms.erase(std::remove_if(sum->terms.begin(), sum->terms.end(),
                                  [this](const symbolic::Term& t) { return t.base == range_; }),
                   sum->terms.end());
  for (const symbolic::Term& t : sum->terms) {
    if (Varies(t.base)) return std::nullopt;
  }
  if (coef != 1 && coef != -1) return std::nullopt;
  // coef * range + rest: range against -rest / coef.
  Ref bound = symbolic::ToNode(g_, DType::kIndex, symbolic::Scale(*sum, -coef));
  if (bound == nullptr) return std::nullopt;
  if (coef == -1 && kind == Clause::kBelow) {  // -range - bound' < 0: range > bound.
    return Clause{Clause::kAtLeast, g_.Add(bound, g_.Index(1))};
  }
  if (coef == -1 && kind == Clause::kAtLeast) {  // range <= bound.
    return Clause{Clause::kBelow, g_.Add(bound, g_.Index(1))};
  }
  return Clause{kind, bound};
}

// `x` with the range at `at` where `condition` holds, else zero. What is loaded there is gated.
Ref Collapse::Selected(Ref x, Ref at, Ref condition) {
  std::vector<uop::Replacement> gated;
  for (Ref n : uop::Toposort(x)) {
    if (n->op != Op::kLoad || !Varies(n)) continue;
    Ref place = n->src(0);
    Ref gate = place->num_src == 3 ? g_.And(condition, place->src(2)) : condition;
    Ref gated_place = g_.Make(Op::kIndex, place->dtype, {place->src(0), place->src(1), gate});
    Ref other = n->num_src >= 2 ? n->src(1) : ZeroOf(g_, n->dtype);
    gated.emplace_back(n, g_.Make(Op::kLoad, n->dtype, {gated_place, other}));
  }
  // Users first: an index may be loaded itself.
  std::reverse(gated.begin(), gated.end());
  for (const uop::Replacement& r : gated) x = uop::SubstituteOnce(g_, x, {{r}});
  x = uop::SubstituteOnce(g_, x, {{range_, at}});
  return g_.Where(condition, x, ZeroOf(g_, x->dtype));
}

}  // namespace

absl::StatusOr<Ref> CollapsedReduce(Graph& g, Op op, Ref body, absl::Span<const Ref> ranges) {
  std::vector<Ref> left(ranges.begin(), ranges.end());
  bool changed = true;
  while (changed && !left.empty()) {
    changed = false;
    for (size_t i = left.size(); i-- > 0;) {
      Ref range = left[i], collapsed = nullptr;
      if (op == Op::kAdd) {
        collapsed = Collapse(g, range).Sum(body);
      } else if (op == Op::kMax && !uop::DependsOn(g, body, range) && VMin(g, range->src(0)) > 0) {
        collapsed = body;
      }
      if (collapsed == nullptr) continue;
      KILN_ASSIGN_OR_RETURN(body, symbolic::Simplify(g, collapsed));
      left.erase(left.begin() + static_cast<ptrdiff_t>(i));
      changed = true;
    }
  }
  if (left.empty()) return body;
  left.insert(left.begin(), body);
  return g.Make(Op::kReduce, body->dtype, left, Arg::Of(ReduceArg{op, 0}));
}

}  // namespace kiln::schedule::internal
