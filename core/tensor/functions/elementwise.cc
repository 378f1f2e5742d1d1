// Arithmetic, comparison, logic and mathematical functions, element by element.
#include <cmath>
#include <limits>
#include <numbers>

#include "core/tensor/functions/algebra.h"
#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/rows.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

constexpr double kPi = std::numbers::pi;
using enum DTypeRule;

// ** arithmetic **

Tensor IDiv(const Tensor& x, const Tensor& y) {
  return x.is_float() ? Trunc(x / y) : Alu(Op::kIDiv, x, y);
}
Tensor Remainder(const Tensor& x, const Tensor& y) {
  return x.is_float() ? x - y * Trunc(x / y) : Alu(Op::kMod, x, y);
}
// Whether a truncated quotient of integers is one too large.
Tensor IsAboveFloor(const Tensor& x, const Tensor& y) {
  return NotEqual(Remainder(x, y), Literal(x, 0)) & NotEqual(x < 0, y < 0) &
         NotEqual(y, Literal(y, 0));
}
Tensor FloorDivide(const Tensor& x, const Tensor& y) {
  if (x.is_float()) return Floor(x / y);
  const Tensor q = IDiv(x, y);
  return dtype::IsSigned(x.dtype()) ? Where(IsAboveFloor(x, y), q - 1, q) : q;
}
Tensor Modulo(const Tensor& x, const Tensor& y) {
  if (x.is_float()) return x - y * Floor(x / y);
  const Tensor r = Remainder(x, y);
  return dtype::IsSigned(x.dtype()) ? Where(IsAboveFloor(x, y), r + y, r) : r;
}
Tensor Pow(const Tensor& x, const Tensor& y) { return Alu(Op::kPow, x, y); }
Tensor Sign(const Tensor& x) { return Where(x > 0, 1, Where(x < 0, Literal(x, -1), x * 0)); }
Tensor Negative(const Tensor& x) { return -x; }

// ** rounding **

Tensor Ceil(const Tensor& x) { return x.is_float() ? -Floor(-x) : x; }
Tensor Round(const Tensor& x) {
  if (!x.is_float()) return x;
  const Tensor low = Floor(x), rest = x - low, half = low * 0.5;
  const Tensor even = Equal(half, Floor(half));
  return Where((rest < 0.5) | (Equal(rest, 0.5) & even), low, low + 1);
}
Tensor Frac(const Tensor& x) { return x - Trunc(x); }

// ** comparison **

Tensor AtMost(const Tensor& x, const Tensor& y) {
  return x.is_float() ? (x < y) | Equal(x, y) : ~(y < x);  // NaN is at most nothing.
}
Tensor IsNan(const Tensor& x) { return NotEqual(x, x); }
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ** powers and logarithms **

Tensor Rsqrt(const Tensor& x) { return Alu(Op::kRecip, Sqrt(x)); }
Tensor Cbrt(const Tensor& x) {
  const Tensor is_negative = x < 0;
  const Tensor root = Pow(Where(is_negative, -x, x), Literal(x, 1.0 / 3));
  return Where(is_negative, -root, root);
}
Tensor Log10(const Tensor& x) { return Alu(Op::kLog2, x) * (1 / std::log2(10.0)); }
Tensor LogAddExp(const Tensor& x, const Tensor& y) {
  // Not by Abs nor Maximum, whose second derivatives are 0 where x is y.
  const Tensor is_less = x < y, d = Where(is_less, x - y, y - x);
  const Tensor are_infinite = Equal(x, y) & NotEqual(d, d);
  return Where(is_less, y, x) + Log1p(Exp(Where(are_infinite, 0, d)));
}

// ** angles **

Tensor Tan(const Tensor& x) { return Sin(x) / Cos(x); }
// Arguments of Atan are at most 1, and roots are taken of each factor, so that nothing is infinite
// times 0 in gradients at the ends.
Tensor Asin(const Tensor& x) { return Atan(x / (Sqrt(1 - x) * Sqrt(1 + x) + 1)) * 2; }
Tensor Acos(const Tensor& x) {
  const Tensor is_negative = x < 0, a = Where(is_negative, -x, x);
  const Tensor angle = Atan(Sqrt(1 - a) / Sqrt(1 + a)) * 2;
  return Where(is_negative, kPi - angle, angle);
}
Tensor Atan2(const Tensor& y, const Tensor& x) {
  const Tensor swap = Abs(y) > Abs(x);
  const Tensor over = Where(swap, x, y), under = Where(swap, y, x);
  const Tensor size = Abs(under);
  const Tensor is_odd =
      Equal(size, 0) | (Equal(Abs(over), size) & NotEqual(size - size, size - size));
  // Of both 0, or both infinite.
  const Tensor ratio = Where(is_odd, Sign(over) * Sign(under), over / Where(is_odd, 1, under));
  const Tensor angle = Atan(ratio);
  const Tensor turned = angle + Where(x < 0, Where(y < 0, -kPi, kPi, x.dtype()), 0);
  return Where(swap, Where(y > 0, kPi / 2, -kPi / 2, x.dtype()) - angle, turned);
}

// ** hyperbolic **: by e^|x| / 2, which overflows no earlier than the result.

Tensor Sinh(const Tensor& x) {
  const Tensor is_negative = x < 0, a = Where(is_negative, -x, x), is_near = a < 20;
  const Tensor t = Expm1(Where(is_near, a, 0));
  const Tensor y = Where(is_near, (t + t / (t + 1)) * 0.5, Exp(a - std::numbers::ln2));
  return Where(is_negative, -y, y);
}
Tensor Cosh(const Tensor& x) {
  const Tensor e = Exp(Where(x < 0, -x, x) - std::numbers::ln2);  // Not Abs: its slope at 0 is 0.
  return e + 0.25 * (1 / e);
}
// Beyond it, sqrt(x^2 + 1) is x, and x^2 is on its way to overflow.
constexpr double kSquareLimit = 1e9;
Tensor Asinh(const Tensor& x) {
  const Tensor is_negative = x<0, a = Where(is_negative, -x, x), is_far = a> kSquareLimit;
  const Tensor n = Where(is_far, 1, a), s = Square(n);
  const Tensor y =
      Where(is_far, Log(Where(is_far, a, 1)) + std::numbers::ln2, Log1p(n + s / (Sqrt(s + 1) + 1)));
  return Where(is_negative, -y, y);
}
Tensor Acosh(const Tensor& x) {
  const Tensor is_far = x > kSquareLimit;
  const Tensor t = Where(is_far, 1, x) - 1;
  return Where(is_far, Log(x) + std::numbers::ln2, Log1p(t + Sqrt(t) * Sqrt(t + 2)));
}
Tensor Atanh(const Tensor& x) { return (Log1p(x) - Log1p(-x)) * 0.5; }

// ** with attributes **

Tensors Clip(Arguments& a) {
  Tensor x = a["x"];
  if (a.Has("min")) x = Maximum(x, a.Float("min"));
  if (a.Has("max")) x = Minimum(x, a.Float("max"));
  return {x};
}
Tensors Lerp(Arguments& a) {
  const Tensor x = a["x"], y = a["y"];
  return {Cast(Widened(x) + Widened(a["weight"]) * (Widened(y) - Widened(x)), x.dtype())};
}
Tensors WhereFunction(Arguments& a) { return {Where(a["condition"], a["x"], a["y"])}; }
Tensors CastFunction(Arguments& a) { return {Cast(a["x"], *a.DTypeIn("dtype"))}; }
Tensors BitcastFunction(Arguments& a) { return {Bitcast(a["x"], *a.DTypeIn("dtype"))}; }

FunctionSchema Comparison(std::string_view name, std::string_view doc, Binary f) {
  return BinaryRow(name, kAny, doc, f);
}
FunctionSchema Logical(std::string_view name, std::string_view doc, Binary f) {
  return BinaryRow(name, kTruth, doc, f);
}
FunctionSchema Bitwise(std::string_view name, std::string_view doc, Binary f) {
  return BinaryRow(name, kBits, doc, f);
}
template <Op op>
Tensor Of(const Tensor& x, const Tensor& y) {
  return Alu(op, x, y);
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> ElementwiseFunctions() {
  return {
      // ** arithmetic **
      BinaryRow("add", kNumber, "x + y. Integers wrap.", Of<Op::kAdd>),
      BinaryRow("sub", kNumber, "x - y. Integers wrap.", Of<Op::kSub>),
      BinaryRow("mul", kNumber, "x y. Integers wrap.", Of<Op::kMul>),
      BinaryRow("div", kFloat, "x / y, as floats.", Of<Op::kFDiv>),
      BinaryRow("div_trunc", kNumber, "x / y rounded toward 0; integers: 0 if y is 0.", IDiv),
      BinaryRow("floor_divide", kNumber, "The largest integer that is at most x / y; integers: 0 if y is 0.", FloorDivide),
      BinaryRow("remainder", kNumber, "x - y floor(x / y): of the sign of y, as Python's %. Integers: x if y is 0.", Modulo),
      BinaryRow("fmod", kNumber, "x - y trunc(x / y): of the sign of x, as C's %. Integers: x if y is 0.", Remainder),
      BinaryRow("pow", kNumber, "x to the power y. Integers wrap; a negative power of one truncates.", Pow),
      BinaryRow("maximum", kAny, "The larger one; NaN if one is NaN.", Maximum),
      BinaryRow("minimum", kAny, "The smaller one; NaN if one is NaN.", Minimum),
      NumberRow("neg", "-x. Integers wrap.", Negative),
      NumberRow("abs", "|x|. The smallest integer stays as it is.", Abs),
      NumberRow("sign", "-1, 0 or 1; NaN of NaN.", Sign),
      NumberRow("square", "x^2.", Square),
      FloatRow("reciprocal", "1 / x.", [](const Tensor& x) { return Alu(Op::kRecip, x); }),
      {.name = "lerp", .doc = "x + weight (y - x). All broadcast.",
       .inputs = {Input("x", kFloat, "the value at weight 0"), Input("y", kFloat, "the value at weight 1"),
                  Input("weight", kFloat, "the weight of y")},
       .attributes = {}, .outputs = {"y"}, .compose = Lerp},
      {.name = "clip", .doc = "x, but at least min and at most max; max if min is larger. NaN stays.",
       .inputs = {Input("x", kNumber, "what is limited")},
       .attributes = {Float("min", "the lower limit, rounded to the dtype of x; left out: none").Optional(),
                      Float("max", "the upper limit, likewise").Optional()},
       .outputs = {"y"}, .compose = Clip},

      // ** rounding **
      NumberRow("floor", "The largest integer that is at most x.", Floor),
      NumberRow("ceil", "The smallest integer that is at least x.", Ceil),
      NumberRow("round", "The nearest integer, of two the even one.", Round),
      NumberRow("trunc", "x without its fraction.", Trunc),
      NumberRow("frac", "x - trunc(x).", Frac),

      // ** comparison **: to bool; NaN is less than nothing, equal to nothing.
      Comparison("eq", "x = y.", Equal),
      Comparison("ne", "x differs from y.", NotEqual),
      Comparison("lt", "x < y.", Of<Op::kCmpLt>),
      Comparison("le", "x <= y.", AtMost),
      Comparison("gt", "x > y.", [](const Tensor& x, const Tensor& y) { return y < x; }),
      Comparison("ge", "x >= y.", [](const Tensor& x, const Tensor& y) { return AtMost(y, x); }),
      FloatRow("isnan", "Whether x is NaN.", IsNan),
      FloatRow("isinf", "Whether x is infinite.", [](const Tensor& x) { return Equal(Abs(x), kInfinity); }),
      FloatRow("isfinite", "Whether x is neither infinite nor NaN.", [](const Tensor& x) { return Abs(x) < kInfinity; }),

      // ** logic and bits **
      Logical("logical_and", "Whether both are true.", Of<Op::kAnd>),
      Logical("logical_or", "Whether one is true.", Of<Op::kOr>),
      Logical("logical_xor", "Whether exactly one is true.", Of<Op::kXor>),
      UnaryRow("logical_not", kTruth, "Whether x is not true.", [](const Tensor& x) { return ~x; }),
      Bitwise("bitwise_and", "The bits that both have.", Of<Op::kAnd>),
      Bitwise("bitwise_or", "The bits that one has.", Of<Op::kOr>),
      Bitwise("bitwise_xor", "The bits that exactly one has.", Of<Op::kXor>),
      UnaryRow("bitwise_not", kBits, "The bits that x has not.", ReversedOrder),
      BinaryRow("shift_left", kInteger, "x 2^y; 0 if y is negative or the width of x or more.", Of<Op::kShl>, /*promoted=*/true),
      BinaryRow("shift_right", kInteger, "x / 2^y, rounded down; y as for shift_left, where only the sign is left.", Of<Op::kShr>, /*promoted=*/true),
      {.name = "where", .doc = "x where the condition is true, else y. All broadcast.",
       .inputs = {Input("condition", kTruth, "the condition"), Input("x", kAny, "what is taken if it is true"),
                  Input("y", kAny, "what is taken if it is not")},
       .attributes = {}, .outputs = {"y"}, .compose = WhereFunction},

      // ** conversion **
      {.name = "cast", .doc = "x in another dtype: floats round to nearest even, floats to integers truncate and saturate, integers wrap.",
       .inputs = {Input("x", kAny, "what is converted")},
       .attributes = {DTypeIn("dtype", "the dtype of the result")}, .outputs = {"y"}, .compose = CastFunction},
      {.name = "bitcast", .doc = "The same bytes as another dtype. If element sizes differ, the last axis is scaled.",
       .inputs = {Input("x", kAny, "what is read anew")},
       .attributes = {DTypeIn("dtype", "the dtype of the result")}, .outputs = {"y"}, .compose = BitcastFunction},

      // ** powers and logarithms **
      FloatRow("sqrt", "The square root.", Sqrt),
      FloatRow("rsqrt", "1 / sqrt(x).", Rsqrt),
      FloatRow("cbrt", "The cube root, of the sign of x.", Cbrt),
      FloatRow("exp", "e^x.", Exp),
      FloatRow("exp2", "2^x.", [](const Tensor& x) { return Alu(Op::kExp2, x); }),
      FloatRow("expm1", "e^x - 1, exact near 0.", Expm1),
      FloatRow("log", "The natural logarithm.", Log),
      FloatRow("log2", "The logarithm to base 2.", [](const Tensor& x) { return Alu(Op::kLog2, x); }),
      FloatRow("log10", "The logarithm to base 10.", Log10),
      FloatRow("log1p", "log(1 + x), exact near 0.", Log1p),
      BinaryRow("logaddexp", kFloat, "log(e^x + e^y), without overflow.", LogAddExp),

      // ** angles **: in radians.
      FloatRow("sin", "The sine.", Sin),
      FloatRow("cos", "The cosine.", Cos),
      FloatRow("tan", "The tangent.", Tan),
      FloatRow("asin", "The arcsine; NaN outside of [-1, 1].", Asin),
      FloatRow("acos", "The arccosine; NaN outside of [-1, 1].", Acos),
      FloatRow("atan", "The arctangent.", Atan),
      BinaryRow("atan2", kFloat, "The angle of the point with ordinate x (the first input) and abscissa y: in [-pi, pi]; 0 at the origin.", Atan2),
      FloatRow("sinh", "The hyperbolic sine.", Sinh),
      FloatRow("cosh", "The hyperbolic cosine.", Cosh),
      FloatRow("tanh", "The hyperbolic tangent.", Tanh),
      FloatRow("asinh", "The inverse of sinh.", Asinh),
      FloatRow("acosh", "The inverse of cosh; NaN below 1.", Acosh),
      FloatRow("atanh", "The inverse of tanh; NaN outside of [-1, 1].", Atanh),
      FloatRow("erf", "2 / sqrt(pi) times the integral of e^-t^2 from 0 to x. Source: Cody, Math. Comp. 23, 1969.", Erf),
      FloatRow("erfc", "1 - erf(x), exact where that is small.", Erfc),
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
