// Derivatives of elementwise ops. What is missing here is zero almost everywhere.
#include <numbers>

#include "core/tensor/gradient/derivative.h"
#include "core/tensor/gradient/rules.h"

namespace kiln::tensor::internal {
namespace {

using namespace rewrite::
    alphabet;  // NOLINT(google-build-using-namespace): rules are written in it.
using std::numbers::ln2;
using std::numbers::log2e;

// The node and its adjoint.
constexpr rewrite::Letter<'v'> v;
constexpr rewrite::Letter<'d'> d;
constexpr NoGradient none;

template <typename A, typename B>
constexpr auto fdiv(A a, B b) {
  return op<Op::kFDiv>(a, b);
}
template <typename A>
constexpr auto sin(A a) {
  return op<Op::kSin>(a);
}
// 1 - 2 sin(x/2)^2: halving is exact, so this stays right to an ulp of 1 however large x is, which
// sin(x + pi/2) does not.
constexpr auto kCosX = 1 - sin(x * 0.5) * sin(x * 0.5) * 2;
// Where x is 0, the power is taken of 1 instead: 0^(y - 1) at y = 0, and log 0 at y >= 0, would make
// NaN of zero times infinity, in this gradient or in the next.
constexpr auto kExponent = where((x == 0) & (y == 0), 1, y) - 1;
constexpr auto kBase = where(y < 0, x, where(x == 0, 1, x));

constexpr auto kDerivatives = derivatives(
    // ** sums and products **
    derivative(x + y, d, d), derivative(x - y, d, neg(d)), derivative(neg(x), neg(d)),
    derivative(x* y, d* y, d* x), derivative(op<Op::kMulAcc>(x, y, z), d* y, d* x, d),
    derivative(fdiv(x, y), fdiv(d, y), neg(fdiv(d, y) * v)), derivative(recip(x), neg(d* v* v)),
    // ** functions **
    derivative(sqrt(x), fdiv(d, v + v)), derivative(exp2(x), d* v* ln2),
    derivative(log2(x), fdiv(d, x) * log2e), derivative(sin(x), d* kCosX),
    derivative(pow(x, y), d* y* pow(x, kExponent), d*(v* log2(kBase)) * ln2),
    // ** choices **: what is equal shares equally, and so does what does not compare.
    derivative(max(x, y),  //
               where(x < y, 0, where(y < x, d, d * 0.5)),
               where(y < x, 0, where(x < y, d, d * 0.5))),
    derivative(where(p, x, y), none, where(p, d, 0), where(p, 0, d)));

}  // namespace

Ref ElementwiseGradient(Terms& terms, Ref node, int i, Ref adjoint) {
  if (node->Is(Op::kCast)) return terms.Cast(adjoint, node->src(0)->dtype);
  return ApplyDerivatives(kDerivatives, terms, node, i, adjoint);
}

}  // namespace kiln::tensor::internal
