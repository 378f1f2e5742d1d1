#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kBool = DType::kBool, kI8 = DType::kInt8, kI32 = DType::kInt32,
                kI64 = DType::kInt64, kU8 = DType::kUInt8, kF16 = DType::kFloat16,
                kF32 = DType::kFloat32, kF64 = DType::kFloat64;

using F1 = std::function<double(double)>;
using F2 = std::function<double(double, double)>;

// Over pairs of shapes that broadcast.
void CheckPairs(const std::string& function, DType x, DType y, DType result, const F2& f,
                double lo = -9, double hi = 9, Tolerance tolerance = {}) {
  const std::pair<Index, Index> shapes[] = {{{}, {}},
                                            {{7}, {7}},
                                            {{3, 5}, {5}},
                                            {{}, {2, 3}},
                                            {{4, 1}, {1, 3}},
                                            {{0, 3}, {3}},
                                            {{2, 1, 3, 1}, {5, 1, 2}}};
  for (const auto& [a, b] : shapes) {
    const Array p = Numbers(x, a, lo, hi, 1), q = Numbers(y, b, lo, hi, 2);
    Check(function, {p, q}, {}, Map2(p, q, result, f), tolerance);
  }
}
// Numbers of several dtypes.
void CheckArithmetic(const std::string& function, const F2& f, double lo = -9, double hi = 9) {
  for (DType d : {kI8, kI32, kI64, kU8, kF16, kF32, kF64}) {
    CheckPairs(function, d, d, d, [&](double x, double y) { return Rounded(d, f(x, y)); }, lo, hi);
  }
  CheckPairs(function, kI32, kF32, kF32, f, lo, hi);
  CheckPairs(function, kBool, kBool, kI32, f, lo, hi);
  CheckPairs(function, kI8, kU8, DType::kInt16, f, lo, hi);
}
void CheckNumbers(const std::string& function, const F1& f) {
  CheckFloats(function, f);
  for (DType d : {kI8, kI32, kI64, kU8}) {
    const Array x = Numbers(d, {3, 5}, -9, 9);
    Check(function, {x}, {}, Map(x, f));
  }
}
void CheckComparison(const std::string& function, const F2& f) {
  for (DType d : {kBool, kI8, kI64, kU8, kF16, kF32}) CheckPairs(function, d, d, kBool, f, -2, 2);
  CheckPairs(function, kI32, kF32, kBool, f, -2, 2);
  const Array x = Of(kF32, {4}, {kNan, 1, kNan, kInf}), y = Of(kF32, {4}, {1, kNan, kNan, kInf});
  Check(function, {x, y}, {}, Map2(x, y, kBool, f));
}
void CheckTruths(const std::string& function, const F2& f) {
  for (DType d : {kBool, kI32, kF32}) {
    CheckPairs(
        function, d, kF32, kBool, [&](double x, double y) { return f(x != 0, y != 0); }, 0, 1);
  }
}
void CheckBits(const std::string& function, int64_t (*f)(int64_t, int64_t)) {
  for (DType d : {kI8, kI32, kI64, kU8}) {
    CheckPairs(function, d, d, d, [&](double x, double y) {
      return static_cast<double>(f(static_cast<int64_t>(x), static_cast<int64_t>(y)));
    });
  }
}
double Floor(double x, double y) { return y == 0 ? 0 : std::floor(x / y); }

// ** arithmetic **
TEST(Function, add) {
  CheckArithmetic("add", [](double x, double y) { return x + y; });
}
TEST(Function, sub) {
  CheckArithmetic("sub", [](double x, double y) { return x - y; });
}
TEST(Function, mul) {
  CheckArithmetic("mul", [](double x, double y) { return x * y; });
}
TEST(Function, div) {
  for (DType d : kFloats) {
    CheckPairs("div", d, d, d, [](double x, double y) { return x / y; }, 0.5, 4);
  }
  CheckPairs("div", kI32, kI32, kF32, [](double x, double y) { return x / y; }, 1, 9);
}
TEST(Function, div_trunc) {
  CheckArithmetic("div_trunc", [](double x, double y) { return std::trunc(x / y); }, 1, 9);
  CheckPairs("div_trunc", kI32, kI32, kI32,
             [](double x, double y) { return y == 0 ? 0 : std::trunc(x / y); });
}
TEST(Function, floor_divide) {
  for (DType d : {kI8, kI32, kI64, kU8}) CheckPairs("floor_divide", d, d, d, Floor);
  CheckPairs("floor_divide", kF32, kF32, kF32, Floor);
}
TEST(Function, remainder) {
  const F2 mod = [](double x, double y) { return y == 0 ? x : x - y * std::floor(x / y); };
  for (DType d : {kI8, kI32, kI64, kU8}) CheckPairs("remainder", d, d, d, mod);
  const Array x = Of(kF64, {4}, {5.5, -5.5, 5.5, -5.5}), y = Of(kF64, {4}, {2, 2, -2, -2});
  Check("remainder", {x, y}, {}, Of(kF64, {4}, {1.5, 0.5, -0.5, -1.5}));
}
TEST(Function, fmod) {
  const F2 mod = [](double x, double y) { return y == 0 ? x : std::fmod(x, y); };
  for (DType d : {kI8, kI32, kI64, kU8}) CheckPairs("fmod", d, d, d, mod);
  const Array x = Of(kF64, {4}, {5.5, -5.5, 5.5, -5.5}), y = Of(kF64, {4}, {2, 2, -2, -2});
  Check("fmod", {x, y}, {}, Of(kF64, {4}, {1.5, -1.5, 1.5, -1.5}));
}
TEST(Function, pow) {
  CheckPairs("pow", kF64, kF64, kF64, [](double x, double y) { return std::pow(x, y); }, 0.1, 4);
  CheckPairs("pow", kI32, kI32, kI32, [](double x, double y) { return std::pow(x, y); }, 0, 4);
}
TEST(Function, maximum) {
  for (DType d : {kBool, kI8, kI64, kU8, kF16, kF64}) {
    CheckPairs("maximum", d, d, d, [](double x, double y) { return std::max(x, y); });
  }
}
TEST(Function, minimum) {
  for (DType d : {kBool, kI8, kI64, kU8, kF16, kF64}) {
    CheckPairs("minimum", d, d, d, [](double x, double y) { return std::min(x, y); });
  }
  Check("minimum", {Of(kI8, {2}, {-128, 127}), Of(kI8, {2}, {127, -128})}, {},
        Of(kI8, {2}, {-128, -128}));
}
TEST(Function, neg) {
  CheckNumbers("neg", [](double x) { return x < 0 ? -x : 0 - x; });
}
TEST(Function, abs) {
  CheckNumbers("abs", [](double x) { return std::abs(x); });
}
TEST(Function, sign) {
  CheckNumbers("sign", [](double x) { return (x > 0) - (x < 0); });
}
TEST(Function, square) {
  CheckNumbers("square", [](double x) { return x * x; });
}
TEST(Function, reciprocal) {
  CheckFloats("reciprocal", [](double x) { return 1 / x; }, 0.1, 4);
}
TEST(Function, lerp) {
  const Array x = Numbers(kF32, {3, 5}, -1, 1, 1), y = Numbers(kF32, {5}, -1, 1, 2);
  const Array w = Numbers(kF32, {3, 1}, 0, 1, 3);
  const Array d = Map2(y, x, kF64, std::minus<>());
  const Array part = Map2(w, d, kF64, std::multiplies<>());
  Check("lerp", {x, y, w}, {}, Map2(x, part, kF32, std::plus<>()), {.scale = 1});
}
TEST(Function, clip) {
  const F1 f = [](double x) { return std::min(std::max(x, -1.0), 2.0); };
  CheckFloats("clip", f, -3, 3, {}, {{"min", -1}, {"max", 2.0}});
  CheckFloats("clip", [](double x) { return std::max(x, 1.0); }, -3, 3, {}, {{"min", 1.0}});
  const Array x = Numbers(kI32, {7}, -9, 9);
  Check("clip", {x}, {{"min", -1}, {"max", 2}}, Map(x, f));
}

// ** rounding **
TEST(Function, floor) {
  CheckNumbers("floor", [](double x) { return std::floor(x); });
}
TEST(Function, ceil) {
  CheckNumbers("ceil", [](double x) { return std::ceil(x); });
}
TEST(Function, round) {
  CheckNumbers("round", [](double x) { return std::nearbyint(x); });
  const Array x = Of(kF32, {8}, {0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, kInf, 8388609});
  Check("round", {x}, {}, Map(x, [](double v) { return std::nearbyint(v); }));
}
TEST(Function, trunc) {
  CheckNumbers("trunc", [](double x) { return std::trunc(x); });
}
TEST(Function, frac) {
  CheckNumbers("frac", [](double x) { return x - std::trunc(x); });
}

// ** comparison **
TEST(Function, eq) { CheckComparison("eq", std::equal_to<>()); }
TEST(Function, ne) { CheckComparison("ne", std::not_equal_to<>()); }
TEST(Function, lt) { CheckComparison("lt", std::less<>()); }
TEST(Function, le) { CheckComparison("le", std::less_equal<>()); }
TEST(Function, gt) { CheckComparison("gt", std::greater<>()); }
TEST(Function, ge) { CheckComparison("ge", std::greater_equal<>()); }
const double kSpecial[] = {0, 1, -1, kInf, -kInf, kNan};
void CheckClass(const std::string& function, const F1& f) {
  const Array x = Of(kF32, {2, 3}, {kSpecial, kSpecial + 6});
  Check(function, {x}, {}, Map(x, kBool, f));
  const Array i = Numbers(kI32, {4});
  Check(function, {i}, {}, Map(i, kBool, f));
}
TEST(Function, isnan) {
  CheckClass("isnan", [](double x) { return std::isnan(x); });
}
TEST(Function, isinf) {
  CheckClass("isinf", [](double x) { return std::isinf(x); });
}
TEST(Function, isfinite) {
  CheckClass("isfinite", [](double x) { return std::isfinite(x); });
}

// ** logic and bits **
TEST(Function, logical_and) {
  CheckTruths("logical_and", [](double x, double y) { return x != 0 && y != 0; });
}
TEST(Function, logical_or) {
  CheckTruths("logical_or", [](double x, double y) { return x != 0 || y != 0; });
}
TEST(Function, logical_xor) {
  CheckTruths("logical_xor", [](double x, double y) { return x != y; });
}
TEST(Function, logical_not) {
  for (DType d : {kBool, kI32, kF32}) {
    const Array x = Numbers(d, {9}, 0, 1);
    Check("logical_not", {x}, {}, Map(x, kBool, [](double v) { return v == 0; }));
  }
}
TEST(Function, bitwise_and) {
  CheckBits("bitwise_and", [](int64_t x, int64_t y) { return x & y; });
}
TEST(Function, bitwise_or) {
  CheckBits("bitwise_or", [](int64_t x, int64_t y) { return x | y; });
}
TEST(Function, bitwise_xor) {
  CheckBits("bitwise_xor", [](int64_t x, int64_t y) { return x ^ y; });
}
TEST(Function, bitwise_not) {
  for (DType d : {kI8, kI64}) {
    const Array x = Numbers(d, {9}, -9, 9);
    Check("bitwise_not", {x}, {}, Map(x, [](double v) { return -v - 1; }));
  }
  Check("bitwise_not", {Of(kU8, {2}, {0, 255})}, {}, Of(kU8, {2}, {255, 0}));
  Check("bitwise_not", {Of(kBool, {2}, {0, 1})}, {}, Of(kBool, {2}, {1, 0}));
}
TEST(Function, shift_left) {
  Check("shift_left", {Of(kI32, {4}, {1, -3, 5, 7}), Of(kI32, {4}, {3, 1, 32, -1})}, {},
        Of(kI32, {4}, {8, -6, 0, 0}));
  CheckPairs(
      "shift_left", kI64, kI8, kI64, [](double x, double y) { return x * std::exp2(y); }, 0, 9);
}
TEST(Function, shift_right) {
  Check("shift_right", {Of(kI32, {4}, {9, -9, -5, 5}), Of(kI32, {4}, {3, 1, 40, 40})}, {},
        Of(kI32, {4}, {1, -5, -1, 0}));
}
TEST(Function, where) {
  const Array c = Numbers(kBool, {3, 1}, 0, 1), x = Numbers(kI32, {5}), y = Numbers(kF32, {3, 5});
  const Array masked = Map2(c, x, kF32, [](double p, double v) { return p != 0 ? v : kNan; });
  Check("where", {c, x, y}, {},
        Map2(masked, y, kF32, [](double v, double other) { return std::isnan(v) ? other : v; }));
}

// ** conversion **
TEST(Function, cast) {
  const Array x = Of(kF32, {5}, {1.5, -1.5, 300, kNan, 0});
  Check("cast", {x}, {{"dtype", kI8}}, Of(kI8, {5}, {1, -1, 127, 0, 0}));
  Check("cast", {x}, {{"dtype", kBool}}, Of(kBool, {5}, {1, 1, 1, 1, 0}));
}
TEST(Function, bitcast) {
  Check("bitcast", {Of(kF32, {2}, {1, -2})}, {{"dtype", DType::kUInt32}},
        Of(DType::kUInt32, {2}, {0x3f800000, 0xc0000000}));
  Check("bitcast", {Of(DType::kUInt16, {1, 2}, {0x0201, 0x0403})}, {{"dtype", kU8}},
        Of(kU8, {1, 4}, {1, 2, 3, 4}));
}

// ** powers and logarithms **
TEST(Function, sqrt) {
  CheckFloats("sqrt", [](double x) { return std::sqrt(x); }, 0, 9);
}
TEST(Function, rsqrt) {
  CheckFloats("rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.1, 9);
}
TEST(Function, cbrt) {
  CheckFloats("cbrt", [](double x) { return std::cbrt(x); }, -9, 9);
}
TEST(Function, exp) {
  CheckFloats("exp", [](double x) { return std::exp(x); }, -5, 5);
}
TEST(Function, exp2) {
  CheckFloats("exp2", [](double x) { return std::exp2(x); }, -5, 5);
}
TEST(Function, expm1) {
  CheckFloats("expm1", [](double x) { return std::expm1(x); }, -3, 3);
  CheckFloats("expm1", [](double x) { return std::expm1(x); }, -1e-4, 1e-4);
  const Array x = Of(kF32, {4}, {kInf, -kInf, 0, 1e-10});
  Check("expm1", {x}, {}, Of(kF32, {4}, {kInf, -1, 0, 1e-10}));
}
TEST(Function, log) {
  CheckFloats("log", [](double x) { return std::log(x); }, 0.01, 9);
}
TEST(Function, log2) {
  CheckFloats("log2", [](double x) { return std::log2(x); }, 0.01, 9);
}
TEST(Function, log10) {
  CheckFloats("log10", [](double x) { return std::log10(x); }, 0.01, 9);
}
TEST(Function, log1p) {
  CheckFloats("log1p", [](double x) { return std::log1p(x); }, -0.9, 9);
  CheckFloats("log1p", [](double x) { return std::log1p(x); }, -1e-4, 1e-4);
  const Array x = Of(kF32, {4}, {kInf, -1, -2, 1e-10});
  Check("log1p", {x}, {}, Of(kF32, {4}, {kInf, -kInf, kNan, 1e-10}));
}
TEST(Function, logaddexp) {
  CheckPairs("logaddexp", kF64, kF64, kF64,
             [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); }, -9, 9,
             {.scale = 1});
  const Array x = Of(kF32, {3}, {1000, -kInf, kInf});
  Check("logaddexp", {x, x}, {}, Of(kF32, {3}, {1000 + std::log(2), -kInf, kInf}));
}

// ** angles **
const Tolerance kAbsolute = {.scale = 1};
TEST(Function, sin) {
  CheckFloats("sin", [](double x) { return std::sin(x); }, -9, 9, kAbsolute);
}
TEST(Function, cos) {
  CheckFloats("cos", [](double x) { return std::cos(x); }, -9, 9, kAbsolute);
  CheckFloats("cos", [](double x) { return std::cos(x); }, -1e4, 1e4, kAbsolute);
}
TEST(Function, tan) {
  CheckFloats("tan", [](double x) { return std::tan(x); }, -1, 1, kAbsolute);
}
TEST(Function, asin) {
  CheckFloats("asin", [](double x) { return std::asin(x); }, -1, 1);
}
TEST(Function, acos) {
  CheckFloats("acos", [](double x) { return std::acos(x); }, -1, 1);
}
TEST(Function, atan) {
  CheckFloats("atan", [](double x) { return std::atan(x); }, -4, 4);
  const Array x = Of(kF64, {4}, {kInf, -kInf, 1e-20, kNan});
  Check("atan", {x}, {}, Map(x, [](double v) { return std::atan(v); }));
}
TEST(Function, atan2) {
  CheckPairs("atan2", kF64, kF64, kF64, [](double y, double x) { return std::atan2(y, x); });
  const Array y = Of(kF64, {6}, {0, 0, 2, -2, kInf, 1}),
              x = Of(kF64, {6}, {0, -1, 0, -2, kInf, kInf});
  Check("atan2", {y, x}, {}, Map2(y, x, kF64, [](double a, double b) { return std::atan2(a, b); }));
}
TEST(Function, sinh) {
  CheckFloats("sinh", [](double x) { return std::sinh(x); }, -5, 5);
  CheckFloats("sinh", [](double x) { return std::sinh(x); }, -1e-3, 1e-3);
}
TEST(Function, cosh) {
  CheckFloats("cosh", [](double x) { return std::cosh(x); }, -5, 5);
}
TEST(Function, tanh) {
  CheckFloats("tanh", [](double x) { return std::tanh(x); }, -5, 5);
  CheckFloats("tanh", [](double x) { return std::tanh(x); }, -1e-3, 1e-3);
  const Array x = Of(kF32, {4}, {kInf, -kInf, 1e30, kNan});
  Check("tanh", {x}, {}, Map(x, [](double v) { return std::tanh(v); }));
}
TEST(Function, asinh) {
  CheckFloats("asinh", [](double x) { return std::asinh(x); }, -5, 5);
  const Array x = Of(kF32, {3}, {1e30, -1e30, 1e-6});
  Check("asinh", {x}, {}, Map(x, [](double v) { return std::asinh(v); }));
}
TEST(Function, acosh) {
  CheckFloats("acosh", [](double x) { return std::acosh(x); }, 1, 9);
  const Array x = Of(kF32, {3}, {1e30, 1, 0});
  Check("acosh", {x}, {}, Map(x, [](double v) { return std::acosh(v); }));
}
TEST(Function, atanh) {
  CheckFloats("atanh", [](double x) { return std::atanh(x); }, -0.9, 0.9, {.ulps = 12});
}
TEST(Function, erf) {
  CheckFloats("erf", [](double x) { return std::erf(x); }, -5, 5);
  CheckFloats("erf", [](double x) { return std::erf(x); }, -0.4, 0.4);
  const Array x = Of(kF64, {4}, {kInf, -kInf, 6, kNan});
  Check("erf", {x}, {}, Map(x, [](double v) { return std::erf(v); }));
}
TEST(Function, erfc) {
  CheckFloats("erfc", [](double x) { return std::erfc(x); }, -5, 8, {.ulps = 64});
  const Array x = Of(kF64, {4}, {kInf, -kInf, 20, kNan});
  Check("erfc", {x}, {}, Map(x, [](double v) { return std::erfc(v); }), {.ulps = 4096});
}

}  // namespace
}  // namespace kiln::tensor::functions
