#include "core/uop/dim.h"

namespace kiln::uop::internal {
namespace {

// rest + constant. `rest` is null for a plain number.
struct Parts {
  Ref rest;
  int64_t constant;
};

Parts Split(Ref dim) {
  if (IsIntConst(dim)) return {nullptr, dim->IntValue()};
  if (dim->op == Op::kAdd && IsIntConst(dim->src(1))) return {dim->src(0), dim->src(1)->IntValue()};
  return {dim, 0};
}

Ref Join(Graph& g, Ref rest, Int128 constant) {
  if (!FitsInt64(constant)) return nullptr;
  Ref c = g.Index(static_cast<int64_t>(constant));
  if (rest == nullptr) return c;
  return constant == 0 ? rest : g.Add(rest, c);
}

}  // namespace

Ref DimSum(Graph& g, Ref a, Ref b) {
  const Parts x = Split(a), y = Split(b);
  Ref rest = x.rest == nullptr ? y.rest : y.rest == nullptr ? x.rest : g.Add(x.rest, y.rest);
  return Join(g, rest, Int128{x.constant} + y.constant);
}

Ref DimDifference(Graph& g, Ref a, Ref b) {
  const Parts x = Split(a), y = Split(b);
  Ref rest = x.rest;
  if (x.rest == y.rest) {
    rest = nullptr;
  } else if (y.rest != nullptr) {
    rest = x.rest == nullptr ? g.Neg(y.rest) : g.Sub(x.rest, y.rest);
  }
  return Join(g, rest, Int128{x.constant} - y.constant);
}

Ref DimScaled(Graph& g, Ref dim, int num, int den) {
  if (IsIntConst(dim)) {
    const Int128 v = Int128{dim->IntValue()} * num;
    return v % den == 0 && FitsInt64(v / den) ? g.Index(static_cast<int64_t>(v / den)) : nullptr;
  }
  return num % den == 0 ? g.Mul(dim, g.Index(num / den)) : nullptr;
}

}  // namespace kiln::uop::internal
