// Special functions and what touches the bits of numbers, element by element.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/dtype/cast.h"
#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/rows.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

constexpr double kPi = std::numbers::pi, kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();
using enum DTypeRule;

// ** signs and bits **

// The word of a float of 16, 32 or 64 bits, signed.
DType WordOf(DType d) {
  const int bits = dtype::SizeBits(d);
  return bits == 64 ? DType::kInt64 : bits == 32 ? DType::kInt32 : DType::kInt16;
}
Tensor SignBit(const Tensor& x) { return x.is_float() ? Bitcast(x, WordOf(x.dtype())) < 0 : x < 0; }
Tensor CopySign(const Tensor& x, const Tensor& y) {
  const Tensor size = Abs(x);
  return Where(SignBit(y), -size, size);
}
Tensor Heaviside(const Tensor& x, const Tensor& y) {
  return Where(Equal(x, 0), y, Where(NotEqual(x, x), x, Where(x < 0, 0.0, 1.0, x.dtype())));
}
// Bits of floats, seen as sign and size, are in the order of the floats.
Tensor NextAfter(const Tensor& x, const Tensor& y) {
  const Tensor bits = Bitcast(x, WordOf(x.dtype()));
  const Tensor outward = Equal(x < y, ~(x < 0));  // Away from 0.
  const Tensor moved = Bitcast(Where(outward, bits + 1, bits - 1), x.dtype());
  const Tensor least = Bitcast(Literal(bits, 1), x.dtype());
  const Tensor from_zero = Where(y < 0, -least, least);
  const Tensor next = Where(Equal(x, 0), from_zero, moved);
  return Where(NotEqual(x, x) | NotEqual(y, y), x + y, Where(Equal(x, y), y, next));
}
Tensors NanToNum(Arguments& a) {
  const Tensor x = a["x"];
  const double most = dtype::MaxFinite(x.dtype());
  const auto by = [&a](std::string_view name, double otherwise) {
    return a.Has(name) ? a.Float(name) : otherwise;
  };
  const Tensor finite = Where(Equal(x, kInfinity), by("posinf", most),
                              Where(Equal(x, -kInfinity), by("neginf", -most), x));
  return {Where(NotEqual(x, x), a.Float("nan"), finite)};
}

// ** elementary **

// Without overflow of squares: by the larger one.
Tensor Hypot(const Tensor& given_x, const Tensor& given_y) {
  const Tensor x = Abs(given_x), y = Abs(given_y);
  const Tensor large = Maximum(x, y), small = Minimum(x, y);
  const Tensor is_usual = (large > 0) & (large < kInfinity);
  const Tensor ratio = Where(is_usual, small, 0) / Where(is_usual, large, 1);
  const Tensor length = Where(is_usual, large * Sqrt(Square(ratio) + 1), large);
  return Where(Equal(x, kInfinity) | Equal(y, kInfinity), kInfinity, length);
}
Tensor LogAddExp2(const Tensor& x, const Tensor& y) {
  // As LogAddExp.
  const Tensor is_less = x < y, d = Where(is_less, x - y, y - x);
  const Tensor are_infinite = Equal(x, y) & NotEqual(d, d);
  return Where(is_less, y, x) +
         Log1p(Alu(Op::kExp2, Where(are_infinite, 0, d))) * std::numbers::log2e;
}
// Not 0 times infinity where x is 0. Elsewhere 0 has the slope log(y).
Tensor XLogY(const Tensor& x, const Tensor& y) {
  const Tensor has_log = (y > 0) & (y < kInfinity);
  const Tensor is_zero = Equal(x, 0) & Equal(y, y) & ~has_log;
  return Where(is_zero, 0, x * Log(Where(is_zero, 1, y)));
}
Tensor Ldexp(const Tensor& x, const Tensor& y) {
  // In two steps, since one of them may be beyond the range of numbers.
  const Tensor half = Trunc(y * 0.5);
  return x * Alu(Op::kExp2, half) * Alu(Op::kExp2, y - half);
}
Tensor Logit(const Tensor& x, const Arguments& a) {
  const double eps = a.Has("eps") ? a.Float("eps") : 0;
  const Tensor p = eps > 0 ? Minimum(Maximum(x, eps), 1 - eps) : x;
  return Log(p / (1 - p));
}
// sin(pi x), which is exactly 0 at integers: x is moved next to 0 first.
Tensor SinPi(const Tensor& x) {
  const Tensor near = x - Detach(Floor(x * 0.5 + 0.5) * 2);  // -1 <= near < 1.
  const Tensor folded = Where(near > 0.5, 1 - near, Where(near < -0.5, -1 - near, near));
  return Sin(folded * kPi);
}
Tensor Sinc(const Tensor& x) {
  // Near 0 by the series up to (pi x)^12, as the slope of the quotient cancels there.
  const Tensor is_near = Abs(x) < 0.15, safe = Where(is_near, 1, x);
  const Tensor s = Square(Where(is_near, x, 0) * kPi);
  Tensor series = Literal(x, 1);
  for (int k = 6; k > 0; --k) series = 1 - s * series / (2.0 * k * (2 * k + 1));
  return Where(is_near, series, SinPi(safe) / (safe * kPi));
}

// ** of the gamma and error functions **

// Source: Lanczos, "A precision approximation of the gamma function", SIAM J. Numer. Anal. B 1,
// 1964; g = 7 with the nine coefficients of Godfrey (2001), to about 1e-15.
Tensor LogGammaAbove(const Tensor& x) {  // x >= 1/2.
  constexpr std::array<double, 8> kTerms = {
      676.5203681218851,  -1259.1392167224028,  771.32342877765313,    -176.61502916214059,
      12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  const Tensor z = x - 1;
  Tensor sum = Literal(x, 0.99999999999980993);
  for (size_t k = 0; k < kTerms.size(); ++k) {
    sum = sum + kTerms[k] / (z + static_cast<double>(k + 1));
  }
  const Tensor t = z + 7.5;
  return (z + 0.5) * Log(t) - t + Log(sum * std::sqrt(2 * kPi));
}
// log(pi / |sin(pi x)|) - lgamma(1 - x) below 1/2. In float32 the terms cancel near 1 and 2: float64.
Tensor LogGamma(const Tensor& given) {
  const Tensor x = Cast(given, DType::kFloat64);
  const Tensor is_low = x < 0.5;
  const Tensor above = LogGammaAbove(Where(is_low, 1 - x, x));
  const Tensor mirrored = std::log(kPi) - Log(Abs(SinPi(Where(is_low, x, 0.5)))) - above;
  const Tensor y = Where(Equal(x, -kInfinity), kInfinity, Where(is_low, mirrored, above));
  return Cast(Where(Equal(x, kInfinity), kInfinity, y), given.dtype());
}
// psi(x) = psi(x + 8) - the sum of 1 / (x + k), and log x - 1 / 2x - the sum of B_2k / (2k x^2k) there.
// Source: Abramowitz & Stegun, 6.3.5, 6.3.7 and 6.3.18.
Tensor Digamma(const Tensor& given) {
  const Tensor x = Cast(given, DType::kFloat64);
  const Tensor is_low = x < 0.5;
  Tensor z = Where(is_low, 1 - x, x), sum = z * 0;
  for (int k = 0; k < 8; ++k) {
    sum = sum + 1 / z;
    z = z + 1;
  }
  const Tensor s = Square(1 / z);
  constexpr std::array<double, 7> kSeries = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                             1.0 / 132, -691.0 / 32760, 1.0 / 12};
  Tensor series = Literal(z, kSeries.back());
  for (size_t k = kSeries.size() - 1; k-- > 0;) series = series * s + kSeries[k];
  const Tensor above = Log(z) - 0.5 * (1 / z) - s * series - sum;
  const Tensor angle = Where(is_low, x, 0.25);
  const Tensor mirrored = above - SinPi(angle + 0.5) / SinPi(angle) * kPi;
  const Tensor is_pole = ~(x > 0) & Equal(x, Floor(x));
  const Tensor y = Where(is_pole, kNan, Where(is_low, mirrored, above));
  return Cast(Where(Equal(x, kInfinity), kInfinity, y), given.dtype());
}
// Two steps of Newton from a rational approximation, against erfc where erf is close to 1. Source of
// that: Giles' survey of central and tail approximations, as in the erfinv of PyTorch and MATLAB.
Tensor ErfInv(const Tensor& given) {
  const Tensor y = Cast(given, DType::kFloat64);
  const Tensor size = Where(y < 0, -y, y);  // Not Abs: its slope at 0 is 0.
  const Tensor is_inside = size < 1, is_central = ~(size > 0.7);
  const Tensor c = Where(is_central, size, 0), z = Square(c);
  const Tensor central =
      c * (((z * -0.140543331 + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
      ((((z * 0.012229801 - 0.329097515) * z + 1.442710462) * z - 2.118377725) * z + 1);
  const Tensor rest = Where(is_inside & ~is_central, 1 - size, 0.25);
  const Tensor t = Sqrt(-Log(rest * 0.5));
  const Tensor tail = (((t * 1.641345311 + 3.429567803) * t - 1.624906493) * t - 1.970840454) /
                      ((t * 1.637067800 + 3.543889200) * t + 1);
  Tensor x = Where(is_central, central, tail);
  for (int i = 0; i < 2; ++i) {
    const Tensor error = Where(is_central, Erf(x) - size, (1 - size) - Erfc(x));
    x = x - error * Exp(Square(x)) * (std::sqrt(kPi) / 2);
  }
  const Tensor beyond = Where(Equal(size, 1), kInfinity, kNan, DType::kFloat64);
  const Tensor inverse = Where(is_inside, x, beyond);
  return Cast(Where(y < 0, -inverse, inverse), given.dtype());
}

Tensors IsClose(Arguments& a) {
  const Tensors xy = Broadcast({Widened(a["x"]), Widened(a["y"])});
  const Tensor x = xy[0], y = xy[1];
  const Tensor near = ~(Abs(x - y) > Abs(y) * a.Float("rtol") + a.Float("atol"));
  const Tensor are_finite = (Abs(x) < kInfinity) & (Abs(y) < kInfinity);
  Tensor is_close = Equal(x, y) | (are_finite & near);
  if (a.Flag("equal_nan")) is_close = is_close | (NotEqual(x, x) & NotEqual(y, y));
  return {is_close};
}
Tensors Polynomial(Arguments& a) {
  const Tensor coefficients = Widened(a["coefficients"]), x = Widened(a["x"]);
  const int64_t n = a.composer().Known(coefficients.dim(0), "the number of coefficients");
  if (n > 1 << 12) return {a.Fail("coefficients", n, " given, there may be 4096")};
  Tensor y = x * 0;
  for (int64_t i = 0; i < n && a.ok(); ++i) y = y * x + Select(coefficients, 0, i);
  return {Cast(y, a["x"].dtype())};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> SpecialFunctions() {
  return {
      // ** signs and bits **
      UnaryRow("signbit", kNumber, "Whether the sign bit is set, also of -0 and of a NaN. bool.", SignBit),
      BinaryRow("copysign", kFloat, "|x| with the sign bit of y.", CopySign),
      BinaryRow("heaviside", kNumber, "0 for x < 0, y for x = 0, 1 for x > 0; NaN of NaN.", Heaviside),
      // Not kFloat, whose functions see wide floats: the next number is that of the dtype itself.
      {.name = "nextafter", .doc = "The next number of the dtype after x in the direction of y. Its gradient is 0.",
       .inputs = {Input("x", kFloat, "the first operand"), Input("y", kFloat, "the second operand")}, .attributes = {}, .outputs = {"y"},
       .compose = [](Arguments& a) -> Tensors {
         const Tensor x = a["x"], y = a["y"];
         if (dtype::SizeBits(x.dtype()) < 16) return {a.Fail("x", "its dtype is ", std::string(dtype::Name(x.dtype())), ", it must have 16 bits or more")};
         const Tensors xy = Broadcast({x, y});
         return {Detach(NextAfter(xy[0], xy[1]))};
       }},
      {.name = "nan_to_num", .doc = "x, with numbers for NaN and infinities.", .inputs = {Input("x", kFloat, "the operand")},
       .attributes = {Float("nan", "for NaN").Default(0.0), Float("posinf", "for infinity; the largest number of the dtype if left out").Optional(),
                      Float("neginf", "for minus infinity; the least number of the dtype if left out").Optional()},
       .outputs = {"y"}, .compose = NanToNum},

      // ** elementary **
      BinaryRow("hypot", kFloat, "sqrt(x^2 + y^2), without overflow; infinite if one is.", Hypot),
      BinaryRow("logaddexp2", kFloat, "log2(2^x + 2^y), without overflow.", LogAddExp2),
      BinaryRow("xlogy", kFloat, "x log(y); 0 if x is 0, but for y NaN.", XLogY),
      BinaryRow("ldexp", kFloat, "x 2^y.", Ldexp),
      FloatRow("logit", "log(x / (1 - x)), the inverse of sigmoid.", {Float("eps", "x is at least eps and at most 1 - eps; left out: as it is").Between(0, 0.5).Optional()}, Logit),
      FloatRow("deg2rad", "Degrees as radians: x pi / 180.", [](const Tensor& x) { return x * (kPi / 180); }),
      FloatRow("rad2deg", "Radians as degrees: x 180 / pi.", [](const Tensor& x) { return x * (180 / kPi); }),
      FloatRow("sinc", "sin(pi x) / (pi x); 1 at 0, exactly 0 at other integers.", Sinc),
      {.name = "isclose", .doc = "Whether |x - y| <= atol + rtol |y|; infinities are close if they are equal. bool.",
       .inputs = {Input("x", kFloat, "the first operand"), Input("y", kFloat, "the second operand")},
       .attributes = {Float("rtol", "relative to y").Default(1e-5).AtLeast(0), Float("atol", "absolute").Default(1e-8).AtLeast(0), Flag("equal_nan", false, "whether NaN is close to NaN")},
       .outputs = {"y"}, .compose = IsClose},
      {.name = "polyval", .doc = "c[0] x^(n-1) + ... + c[n-1], by Horner's rule.",
       .inputs = {Input("coefficients", kFloat, "[n], of the highest power first").Rank(1), Input("x", kFloat, "the operand")},
       .attributes = {}, .outputs = {"y"}, .compose = Polynomial},

      // ** of the gamma and error functions **
      FloatRow("lgamma", "log |gamma(x)|; infinite at 0, -1, ... Source: Lanczos, SIAM J. Numer. Anal. B 1, 1964.", LogGamma),
      FloatRow("digamma", "The derivative of lgamma; NaN at 0, -1, ... Source: Abramowitz & Stegun, 6.3.", Digamma),
      FloatRow("erfinv", "The inverse of erf: infinite at -1 and 1, NaN beyond.", ErfInv),
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
