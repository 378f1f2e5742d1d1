#include <cmath>
#include <limits>
#include <numbers>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;
constexpr DType kBool = DType::kBool, kI32 = DType::kInt32, kF16 = DType::kFloat16,
                kF32 = DType::kFloat32, kF64 = DType::kFloat64;
using F2 = std::function<double(double, double)>;

// Of floats of every width, broadcast.
void CheckPairs(const std::string& function, const F2& f, double lo = -3, double hi = 3,
                Tolerance tolerance = {}) {
  for (DType d : kFloats) {
    for (const auto& [a, b] : {std::pair<Index, Index>{{7}, {7}}, {{3, 1}, {1, 4}}, {{}, {5}}}) {
      const Array x = Numbers(d, a, lo, hi, 1), y = Numbers(d, b, lo, hi, 2);
      Check(function, {x, y}, {}, Map2(x, y, d, f), tolerance);
    }
  }
}

// ** signs and bits **
TEST(Function, signbit) {
  for (DType d : kFloats) {
    const Array x = Of(d, {5}, {-0.0, 0.0, -1, kInf, -kInf});
    Check("signbit", {x}, {}, Map(x, kBool, [](double v) { return std::signbit(v); }));
  }
  const Array i = Numbers(kI32, {7});
  Check("signbit", {i}, {}, Map(i, kBool, [](double v) { return v < 0; }));
}
TEST(Function, copysign) {
  CheckPairs("copysign", [](double x, double y) { return std::copysign(x, y); });
  const Array y = Of(kF32, {4}, {-0.0, 0.0, -kInf, 2});
  Check("copysign", {Of(kF32, {}, {3}), y}, {}, Of(kF32, {4}, {-3, 3, -3, 3}));
}
TEST(Function, heaviside) {
  const F2 f = [](double x, double y) { return std::isnan(x) ? x : x == 0 ? y : x > 0; };
  CheckPairs("heaviside", f);
  const Array x = Of(kF64, {5}, {-1, 0, -0.0, 2, kNan}), y = Of(kF64, {}, {0.5});
  Check("heaviside", {x, y}, {}, Map2(x, y, kF64, f));
}
TEST(Function, nextafter) {
  const Array x = Of(kF64, {10}, {0, -0.0, 1, 1, -1, -1, kInf, kNan, 5e-324, 3}),
              y = Of(kF64, {10}, {1, -1, 2, 0, 0, -9, 0, 0, -1, 3});
  Check("nextafter", {x, y}, {},
        Map2(x, y, kF64, [](double a, double b) { return std::nextafter(a, b); }), {.ulps = 0});
  const Array p = Numbers(kF32, {9}, -2, 2, 1), q = Numbers(kF32, {9}, -2, 2, 2);
  Check("nextafter", {p, q}, {},
        Map2(p, q, kF32,
             [](double a, double b) {
               return std::nextafterf(static_cast<float>(a), static_cast<float>(b));
             }),
        {.ulps = 0});
  Check("nextafter", {Of(kF16, {3}, {1, 1, 2}), Of(kF16, {3}, {2, 0, 2})}, {},
        Of(kF16, {3}, {1 + 0x1p-10, 1 - 0x1p-11, 2}), {.ulps = 0});
}
TEST(Function, nan_to_num) {
  const Array x = Of(kF32, {4}, {kNan, kInf, -kInf, 2});
  constexpr double kMost = std::numeric_limits<float>::max();
  Check("nan_to_num", {x}, {}, Of(kF32, {4}, {0, kMost, -kMost, 2}));
  Check("nan_to_num", {x}, {{"nan", 1}, {"posinf", 7.5}, {"neginf", -8}},
        Of(kF32, {4}, {1, 7.5, -8, 2}));
  const Array h = Of(kF16, {2}, {kInf, -kInf});
  Check("nan_to_num", {h}, {}, Of(kF16, {2}, {65504, -65504}));
}

// ** elementary **
TEST(Function, hypot) {
  CheckPairs("hypot", [](double x, double y) { return std::hypot(x, y); });
  const Array x = Of(kF64, {5}, {3e200, 0, kInf, kNan, kNan}),
              y = Of(kF64, {5}, {4e200, 0, kNan, -kInf, 1});
  Check("hypot", {x, y}, {}, Map2(x, y, kF64, [](double a, double b) { return std::hypot(a, b); }));
}
TEST(Function, logaddexp2) {
  CheckPairs("logaddexp2",
             [](double x, double y) { return std::log2(std::exp2(x) + std::exp2(y)); }, -3, 3,
             {.scale = 1});
  Check("logaddexp2", {Of(kF32, {2}, {1000, -kInf}), Of(kF32, {2}, {1000, -kInf})}, {},
        Of(kF32, {2}, {1001, -kInf}));
}
TEST(Function, xlogy) {
  CheckPairs("xlogy", [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }, 0.1, 4,
             {.scale = 1});
  Check("xlogy", {Zeros(kF32, {3}), Of(kF32, {3}, {0, kInf, kNan})}, {},
        Of(kF32, {3}, {0, 0, kNan}));
}
TEST(Function, ldexp) {
  const Array x = Numbers(kF64, {5}), y = Of(kF64, {5}, {0, 3, -4, 1000, -1000});
  Check("ldexp", {x, y}, {},
        Map2(x, y, kF64, [](double a, double b) { return std::ldexp(a, static_cast<int>(b)); }));
}
TEST(Function, logit) {
  CheckFloats("logit", [](double x) { return std::log(x / (1 - x)); }, 0.1, 0.9, {.scale = 2});
  Check("logit", {Of(kF64, {2}, {0, 1})}, {{"eps", 0.25}},
        Of(kF64, {2}, {-std::log(3), std::log(3)}));
  Check("logit", {Of(kF64, {2}, {0, 1})}, {}, Of(kF64, {2}, {-kInf, kInf}));
}
TEST(Function, deg2rad) {
  CheckFloats("deg2rad", [](double x) { return x * kPi / 180; }, -180, 180);
}
TEST(Function, rad2deg) {
  CheckFloats("rad2deg", [](double x) { return x * 180 / kPi; });
}
TEST(Function, sinc) {
  CheckFloats("sinc", [](double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }, -3, 3,
              {.scale = 1});
  Check("sinc", {Of(kF64, {4}, {0, 1, -7, 1e9})}, {}, Of(kF64, {4}, {1, 0, 0, 0}), {.ulps = 0});
}
TEST(Function, isclose) {
  const Array x = Of(kF64, {7}, {1, 1, kInf, kInf, kNan, 0, 100}),
              y = Of(kF64, {7}, {1.000001, 1.1, kInf, 1, kNan, 1e-9, 101});
  Check("isclose", {x, y}, {}, Of(kBool, {7}, {1, 0, 1, 0, 0, 1, 0}));
  Check("isclose", {x, y}, {{"equal_nan", true}, {"rtol", 0.2}},
        Of(kBool, {7}, {1, 1, 1, 0, 1, 1, 1}));
}
TEST(Function, polyval) {
  const Array c = Of(kF64, {3}, {2, -1, 4}), x = Numbers(kF64, {2, 3});
  Check("polyval", {c, x}, {}, Map(x, [](double v) { return (2 * v - 1) * v + 4; }), {.scale = 16});
  Check("polyval", {Zeros(kF64, {0}), x}, {}, Zeros(kF64, {2, 3}));
}

// ** of the gamma and error functions **
TEST(Function, lgamma) {
  const Tolerance tolerance = {.ulps = 64, .scale = 1};
  CheckFloats("lgamma", [](double x) { return std::lgamma(x); }, 0.1, 30, tolerance);
  CheckFloats("lgamma", [](double x) { return std::lgamma(x); }, -2.9, -2.1, tolerance);
  const Array x = Of(kF64, {6}, {1, 2, 0, -1, kInf, 1e5});
  Check("lgamma", {x}, {}, Map(x, [](double v) { return std::lgamma(v); }), tolerance);
}
// By recurrence and the asymptotic series far out.
double Digamma(double x) {
  if (x < 60) return Digamma(x + 1) - 1 / x;
  return std::log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * std::pow(x, 4)) -
         1 / (252 * std::pow(x, 6));
}
TEST(Function, digamma) {
  const Tolerance tolerance = {.ulps = 256, .scale = 1};
  CheckFloats("digamma", Digamma, 0.1, 30, tolerance);
  CheckFloats("digamma", Digamma, -1.9, -1.1, tolerance);
  Check("digamma", {Of(kF64, {4}, {1, 0, -3, kInf})}, {},
        Of(kF64, {4}, {-std::numbers::egamma, kNan, kNan, kInf}), tolerance);
}
TEST(Function, erfinv) {
  // Against the function that it inverts: by bisection.
  const auto inverse = [](double y) {
    double low = -7, high = 7;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      (std::erf(middle) < y ? low : high) = middle;
    }
    return low;
  };
  CheckFloats("erfinv", inverse, -0.95, 0.95, {.ulps = 16});
  Check("erfinv", {Of(kF64, {6}, {0, 1, -1, 1.5, kNan, 0.999999})}, {},
        Of(kF64, {6}, {0, kInf, -kInf, kNan, kNan, 3.4589107372795}),
        {.ulps = 1e5});  // So close to 1, an ulp of the operand is 3.5e4 of the result.
}

}  // namespace
}  // namespace kiln::tensor::functions
