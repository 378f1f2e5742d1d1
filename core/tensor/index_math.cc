#include "core/tensor/index_math.h"

#include <utility>

#include "core/dtype/int128.h"

namespace kiln::tensor::internal {
namespace {

bool AreConst(Ref x, Ref y) { return IsIntConst(x) && IsIntConst(y); }

// The constant `value`, or null if it is no int64.
Ref Constant(Graph& g, Int128 value) {
  return FitsInt64(value) ? g.Index(static_cast<int64_t>(value)) : nullptr;
}

// z in z * -1, or null.
Ref Mirrored(Ref n) { return n->Is(Op::kMul) && IsIntConst(n->src(1), -1) ? n->src(0) : nullptr; }

bool IsShift(Ref n) { return n->Is(Op::kAdd) && IsIntConst(n->src(1)); }

}  // namespace

Ref Plus(Graph& g, Ref x, Ref y) {
  if (IsIntConst(x)) std::swap(x, y);
  if (IsZero(y)) return x;
  if (AreConst(x, y)) {
    if (Ref sum = Constant(g, Int128{x->IntValue()} + y->IntValue())) return sum;
  } else if (IsIntConst(y) && IsShift(x)) {
    if (Ref shift = Constant(g, Int128{x->src(1)->IntValue()} + y->IntValue())) {
      return Plus(g, x->src(0), shift);
    }
  }
  return g.Add(x, y);
}

Ref Sum(Graph& g, absl::Span<const Ref> terms) {
  Ref sum = g.Index(0);
  for (Ref term : terms) sum = Plus(g, sum, term);
  return sum;
}

Ref Minus(Graph& g, Ref x, Ref y) {
  if (x == y) return g.Index(0);
  if (IsIntConst(y)) {
    if (Ref negative = Constant(g, -Int128{y->IntValue()})) return Plus(g, x, negative);
  } else if (IsIntConst(x)) {
    if (Ref z = Mirrored(y)) return Plus(g, z, x);
    if (IsShift(y)) return Minus(g, Minus(g, x, y->src(1)), y->src(0));
  }
  return Plus(g, g.Mul(y, g.Index(-1)), x);
}

Ref Times(Graph& g, Ref x, Ref y) {
  if (IsZero(x) || IsOne(y)) return x;
  if (IsZero(y) || IsOne(x)) return y;
  if (AreConst(x, y)) {
    if (Ref product = Constant(g, Int128{x->IntValue()} * y->IntValue())) return product;
  }
  return g.Mul(x, y);
}

Ref Quotient(Graph& g, Ref x, Ref y) {
  if (IsZero(x) || IsOne(y)) return x;
  if (AreConst(x, y)) {
    if (Ref quotient = Constant(g, Int128{x->IntValue()} / y->IntValue())) return quotient;
  }
  return g.IDiv(x, y);
}

Ref Remainder(Graph& g, Ref x, Ref y) {
  if (IsZero(x)) return x;
  if (IsOne(y)) return g.Index(0);
  if (AreConst(x, y)) return g.Index(static_cast<int64_t>(Int128{x->IntValue()} % y->IntValue()));
  return g.Mod(x, y);
}

Ref Less(Graph& g, Ref x, Ref y) {
  if (x == y) return g.Bool(false);
  bool is_mirrored = false;  // Then the condition is !(x < y).
  while (IsIntConst(y)) {
    const Int128 bound = y->IntValue();
    Ref z = Mirrored(x);
    Ref moved = nullptr;
    if (z != nullptr) {
      moved = Constant(g, 1 - bound);
    } else if (IsShift(x)) {
      moved = Constant(g, bound - x->src(1)->IntValue());
    }
    if (moved == nullptr) break;
    is_mirrored ^= z != nullptr;
    x = x->src(0);
    y = moved;
  }
  Ref less = AreConst(x, y) ? g.Bool(x->IntValue() < y->IntValue()) : g.Lt(x, y);
  return is_mirrored ? Negation(g, less) : less;
}

Ref AtMost(Graph& g, Ref x, Ref y) { return Negation(g, Less(g, y, x)); }

Ref Equal(Graph& g, Ref x, Ref y) {
  if (x == y) return g.Bool(true);
  if (AreConst(x, y)) return g.Bool(false);
  return g.Not(g.Ne(x, y));
}

Ref Both(Graph& g, Ref p, Ref q) {
  if (p == q || IsIntConst(q, 1)) return p;
  if (IsIntConst(p, 1)) return q;
  if (IsIntConst(p, 0)) return p;
  if (IsIntConst(q, 0)) return q;
  return g.And(p, q);
}

Ref Negation(Graph& g, Ref p) {
  if (p->IsConst()) return g.Bool(p->IntValue() == 0);
  if (IsNegation(p)) return p->src(0);
  return g.Not(p);
}

}  // namespace kiln::tensor::internal
