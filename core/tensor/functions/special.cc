// Atan, Erf and Erfc of algebra.h: from primitives, to about the precision of float64, and in such a
// form that gradients are finite wherever they should be.
#include <array>
#include <cmath>
#include <numbers>

#include "core/tensor/functions/algebra.h"

namespace kiln::tensor::functions {
namespace {

// c[0] + x (c[1] + x (c[2] + ...)).
template <size_t n>
Tensor Polynomial(const Tensor& x, const std::array<double, n>& c) {
  Tensor y = Literal(x, c[n - 1]);
  for (size_t i = n - 1; i-- > 0;) y = y * x + c[i];
  return y;
}

}  // namespace

// atan x = pi/2 - atan 1/x, then twice atan x = 2 atan(x / (1 + sqrt(1 + x^2))), so that |x| < 0.2,
// then the series to x^21: the next term is below 2^-56.
Tensor Atan(const Tensor& x) {
  const Tensor is_far = Abs(x) > 1;
  Tensor t = Where(is_far, 1 / Where(is_far, x, 1), x);
  for (int i = 0; i < 2; ++i) t = t / (Sqrt(Square(t) + 1) + 1);
  const Tensor s = Square(t);
  Tensor sum = Literal(s, 1.0 / 21);
  for (int k = 19; k > 0; k -= 2) sum = 1.0 / k - s * sum;
  const Tensor near = t * sum * 4;
  constexpr double kQuarter = std::numbers::pi / 2;
  return Where(is_far, Where(x > 0, kQuarter, -kQuarter, x.dtype()) - near, near);
}

// Source: Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23, 1969;
// coefficients as in his CALERF (netlib, specfun).
namespace {

constexpr double kNear = 0.46875, kFar = 4;

// erf x for |x| <= kNear.
Tensor ErfNear(const Tensor& x) {
  const Tensor s = Square(x);
  return x *
         Polynomial<5>(s, {3.20937758913846947e3, 3.77485237685302021e2, 1.13864154151050156e2,
                           3.16112374387056560e0, 1.85777706184603153e-1}) /
         Polynomial<5>(s, {2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2,
                           2.36012909523441209e1, 1});
}

// erfc y for y >= kNear.
Tensor ErfcBeyond(const Tensor& y) {
  const Tensor is_far = y > kFar;
  const Tensor m = Where(is_far, 1, y), f = Where(is_far, y, kFar);
  const Tensor middle =
      Polynomial<9>(m, {1.23033935479799725e3, 2.05107837782607147e3, 1.71204761263407058e3,
                        8.81952221241769090e2, 2.98635138197400131e2, 6.61191906371416295e1,
                        8.88314979438837594e0, 5.64188496988670089e-1, 2.15311535474403846e-8}) /
      Polynomial<9>(m, {1.23033935480374942e3, 3.43936767414372164e3, 4.36261909014324716e3,
                        3.29079923573345963e3, 1.62138957456669019e3, 5.37181101862009858e2,
                        1.17693950891312499e2, 1.57449261107098347e1, 1});
  const Tensor r = Square(1 / f);
  const Tensor tail =
      r *
      Polynomial<6>(r, {6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1,
                        3.60344899949804439e-1, 3.05326634961232344e-1, 1.63153871373020978e-2}) /
      Polynomial<6>(r, {2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1,
                        1.87295284992346725e0, 2.56852019228982242e0, 1});
  const Tensor far = (1 / std::sqrt(std::numbers::pi) - tail) / f;
  // e^-y^2 by a part of y whose square is exact. Beyond 30 it is 0 anyway, and infinity - infinity is none.
  const Tensor b = Minimum(y, 30);
  const Tensor head = Detach(Trunc(b * 16) / 16);
  const Tensor e = Exp(-Square(head)) * Exp((head - b) * (head + b));
  return Where(is_far, far, middle) * e;
}

}  // namespace

Tensor Erf(const Tensor& x) {
  const Tensor is_near = ~(Abs(x) > kNear);
  const Tensor beyond = 1 - ErfcBeyond(Where(is_near, 1, Abs(x)));
  return Where(is_near, ErfNear(Where(is_near, x, 0)), Where(x < 0, -beyond, beyond));
}

Tensor Erfc(const Tensor& x) {
  const Tensor is_near = ~(Abs(x) > kNear);
  const Tensor beyond = ErfcBeyond(Where(is_near, 1, Abs(x)));
  return Where(is_near, 1 - ErfNear(Where(is_near, x, 0)), Where(x < 0, 2 - beyond, beyond));
}

}  // namespace kiln::tensor::functions
