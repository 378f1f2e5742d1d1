#include <cmath>

#include "core/codegen/decompositions.h"
#include "core/codegen/float_kind.h"

namespace kiln::codegen::internal {
namespace {

// Bounds never hold a NaN, so a finite one excludes it.
bool MayBeNan(Graph& g, Ref x) {
  const uop::FloatBounds& b = uop::FloatBoundsOf(g, x);
  return std::isinf(b.lo) && std::isinf(b.hi);
}

}  // namespace

Ref Max(Graph& g, Ref x, Ref y) {
  const Expr a(g, x), b(g, y);
  // A comparison with NaN is false, which gives the first operand.
  Expr otherwise = a;
  if (dtype::IsFloat(x->dtype) && MayBeNan(g, y)) otherwise = Select(b != b, b, a);
  return Select(a < b, b, otherwise).ref();
}

Ref Trunc(Graph& g, Ref x) {
  return InWorkingPrecision(g, x, [](const FloatKind& kind, Expr v) {
    const double integers_from = static_cast<double>(uint64_t{1} << kind.fraction_bits());
    const Expr magnitude = Magnitude(kind, v);
    // Adding this leaves no room for a fraction; it rounds to nearest, which may be one too many.
    const Expr rounded = (magnitude + integers_from) - integers_from;
    const Expr truncated = Select(magnitude < rounded, rounded - 1.0, rounded);
    const Expr sign = v.Bits(kind.u) & (uint64_t{1} << (kind.bits - 1));
    const Expr result = (truncated.Bits(kind.u) | sign).Bits(kind.f);
    return Select(magnitude < integers_from, result, v);
  });
}

}  // namespace kiln::codegen::internal
