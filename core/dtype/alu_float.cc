// Floats of all widths are computed in double. For +, -, *, / and sqrt of types of at most 24 bits
// of precision the second rounding is harmless, since 53 >= 2 * 24 + 2. Source: Figueroa, "When is
// double rounding innocuous?", SIGNUM Newsletter 30(3), 1995.
#include <cmath>
#include <limits>

#include "core/dtype/alu_kinds.h"
#include "core/dtype/cast.h"

namespace kiln::dtype::internal {
namespace {

// a * b + c, rounded once to `d`.
double MulAcc(double a, double b, double c, DType d) {
  if (d == DType::kFloat64) return std::fma(a, b, c);
  const double product = a * b;  // Exact: at most 48 bits.
  const double sum = product + c;
  if (!std::isfinite(sum)) return RoundToFloat(sum, d);
  // What the sum lost (Knuth's TwoSum). It matters only if `sum` lies half way between two values
  // of `d`; then one step towards the exact value decides, and otherwise changes nothing.
  const double shadow = sum - product;
  const double lost = (product - (sum - shadow)) + (c - shadow);
  if (lost == 0) return RoundToFloat(sum, d);
  const double infinity = std::numeric_limits<double>::infinity();
  return RoundToFloat(std::nextafter(sum, lost > 0 ? infinity : -infinity), d);
}

double Max(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return a < b ? b : a;
}

// Evaluates a function of libm with more precision than `d` has.
template <typename Function, typename... Args>
double Round(DType d, Function f, Args... args) {
  if (d == DType::kFloat64) return static_cast<double>(f(static_cast<long double>(args)...));
  return RoundToFloat(f(args...), d);
}

// Squares and reciprocals are rounded once, as kMul and kRecip are: rules replace them by these.
double Pow(double a, double b, DType d) {
  if (b == 2) return RoundToFloat(a * a, d);
  if (b == -1) return RoundToFloat(1 / a, d);
  return Round(d, [](auto x, auto y) { return std::pow(x, y); }, a, b);
}

}  // namespace

Scalar EvalFloat(AluOp op, DType d, absl::Span<const Scalar> operands) {
  const double a = operands[0].AsFloat();
  const double b = operands.size() > 1 ? operands[1].AsFloat() : 0;
  const double c = operands.size() > 2 ? operands[2].AsFloat() : 0;
  const auto round = [d](double v) { return Scalar::Float(RoundToFloat(v, d)); };
  switch (op) {
    case AluOp::kNeg:
      return Scalar::Float(-a);
    case AluOp::kRecip:
      return round(1 / a);
    case AluOp::kSqrt:
      return round(std::sqrt(a));
    case AluOp::kExp2:
      return Scalar::Float(Round(d, [](auto x) { return std::exp2(x); }, a));
    case AluOp::kLog2:
      return Scalar::Float(Round(d, [](auto x) { return std::log2(x); }, a));
    case AluOp::kSin:
      return Scalar::Float(Round(d, [](auto x) { return std::sin(x); }, a));
    case AluOp::kTrunc:
      return Scalar::Float(std::trunc(a));
    case AluOp::kAdd:
      return round(a + b);
    case AluOp::kSub:
      return round(a - b);
    case AluOp::kMul:
      return round(a * b);
    case AluOp::kFDiv:
      return round(a / b);
    case AluOp::kMax:
      return Scalar::Float(Max(a, b));
    case AluOp::kPow:
      return Scalar::Float(Pow(a, b, d));
    case AluOp::kCmpLt:
      return Scalar::Bool(a < b);
    case AluOp::kCmpNe:
      return Scalar::Bool(a != b);
    case AluOp::kCmpEq:
      return Scalar::Bool(a == b);
    case AluOp::kMulAcc:
      return Scalar::Float(MulAcc(a, b, c, d));
    default:
      return Scalar();  // Not defined on floats.
  }
}

}  // namespace kiln::dtype::internal
