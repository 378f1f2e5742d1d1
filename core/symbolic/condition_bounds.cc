#include "core/symbolic/condition_bounds.h"

#include <algorithm>

#include "core/symbolic/exact.h"
#include "core/uop/node_map.h"

namespace kiln::symbolic {
namespace {

bool IsInfinite(Int128 v) { return v <= Bounds::kNegInf || v >= Bounds::kPosInf; }

Int128 FloorDiv(Int128 a, Int128 b) {
  const Int128 q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
Int128 CeilDiv(Int128 a, Int128 b) { return -FloorDiv(-a, b); }

// The x with x + c in `b`.
Bounds Minus(Bounds b, Int128 c) {
  return {IsInfinite(b.lo) ? b.lo : b.lo - c, IsInfinite(b.hi) ? b.hi : b.hi - c};
}

// The x with x * c in `b`; may be empty (lo > hi). c != 0.
Bounds Over(Bounds b, Int128 c) {
  if (c < 0) {
    b = {-b.hi, -b.lo};
    c = -c;
  }
  return {IsInfinite(b.lo) ? b.lo : CeilDiv(b.lo, c), IsInfinite(b.hi) ? b.hi : FloorDiv(b.hi, c)};
}

class Collector {
 public:
  explicit Collector(Graph& g) : g_(g) {}

  std::optional<std::vector<BoundedNode>> Run(Ref condition) && {
    std::vector<Ref> clauses = {condition};
    uop::NodeMap<bool> seen;
    while (!clauses.empty() && possible_) {
      const Ref clause = clauses.back();
      clauses.pop_back();
      if (seen.Get(clause)) continue;
      seen[clause] = true;
      if (clause->op == Op::kAnd && clause->dtype == DType::kBool) {
        clauses.insert(clauses.end(), clause->src().begin(), clause->src().end());
      } else {
        AddClause(clause);
      }
    }
    if (!possible_) return std::nullopt;
    return std::move(found_);
  }

 private:
  void AddClause(Ref clause) {
    if (clause->IsConst()) {
      possible_ = possible_ && clause->arg.scalar().AsBool();
      return;
    }
    const bool negated = IsNegation(clause);
    if (negated) clause = clause->src(0);
    if (!uop::IsComparison(clause->op) || !dtype::IsInteger(clause->src(0)->dtype)) return;
    const Ref x = clause->src(0), y = clause->src(1);
    const Bounds bx = SafeBoundsOf(g_, x), by = SafeBoundsOf(g_, y);
    if (clause->op == Op::kCmpLt) {
      // x < y: below the largest y, and y above the smallest x. Or y <= x.
      Add(x, negated ? Bounds{.lo = by.lo} : Bounds{.hi = Before(by.hi)});
      Add(y, negated ? Bounds{.hi = bx.hi} : Bounds{.lo = After(bx.lo)});
    } else if ((clause->op == Op::kCmpEq) != negated) {
      Add(x, by);
      Add(y, bx);
    }
  }

  static Int128 Before(Int128 v) { return IsInfinite(v) ? v : v - 1; }
  static Int128 After(Int128 v) { return IsInfinite(v) ? v : v + 1; }

  // `n` lies within `b`, and so what it is made of within what follows from this.
  void Add(Ref n, Bounds b) {
    while (!n->IsConst() && possible_) {
      if (!Intersect(n, b)) return;
      b = found_[index_.Get(n) - 1].bounds;
      if (n->op == Op::kCast && IsSameValue(n)) {
        n = n->src(0);
      } else if ((n->op == Op::kAdd || n->op == Op::kMul) && n->src(1)->IsConst() &&
                 IsExact(g_, n)) {
        const Int128 c = n->src(1)->arg.scalar().AsWide(n->dtype);
        if (n->op == Op::kMul && c == 0) return;
        b = n->op == Op::kAdd ? Minus(b, c) : Over(b, c);
        n = n->src(0);
      } else {
        return;
      }
    }
    if (n->IsConst()) possible_ = possible_ && b.Contains(n->arg.scalar().AsWide(n->dtype));
  }

  // Whether a cast keeps the integer that it is given.
  bool IsSameValue(Ref cast) {
    const Ref x = cast->src(0);
    return dtype::IsInteger(x->dtype) && dtype::IsInteger(cast->dtype) &&
           uop::FullBounds(cast->dtype).Contains(SafeBoundsOf(g_, x));
  }

  // Whether this tells anything new.
  bool Intersect(Ref n, Bounds b) {
    int& index = index_[n];
    const Bounds known = index > 0 ? found_[index - 1].bounds : SafeBoundsOf(g_, n);
    const Bounds both = {std::max(known.lo, b.lo), std::min(known.hi, b.hi)};
    if (both.lo > both.hi) possible_ = false;
    if (both == known || !possible_) return false;
    if (index == 0) {
      found_.push_back({n, both});
      index = static_cast<int>(found_.size());
    } else {
      found_[index - 1].bounds = both;
    }
    return true;
  }

  Graph& g_;
  bool possible_ = true;
  std::vector<BoundedNode> found_;
  uop::NodeMap<int> index_;  // In found_, from 1.
};

}  // namespace

std::optional<std::vector<BoundedNode>> BoundsGiven(Graph& g, Ref condition) {
  return Collector(g).Run(condition);
}

}  // namespace kiln::symbolic
