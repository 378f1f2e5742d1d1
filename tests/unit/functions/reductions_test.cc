#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kBool = DType::kBool, kI8 = DType::kInt8, kI32 = DType::kInt32,
                kI64 = DType::kInt64, kU8 = DType::kUInt8, kU64 = DType::kUInt64,
                kF32 = DType::kFloat32, kF64 = DType::kFloat64;

using Values = const std::vector<double>&;
using Fold = std::function<double(Values)>;

// Over shapes and axes.
void CheckOver(const std::string& function, DType dtype, DType result, const Fold& f,
               Tolerance tolerance = {}, const Attributes& more = {}) {
  struct Case {
    Index shape;
    std::optional<Index> axes;
    bool keepdim;
  };
  const Case cases[] = {{{}, {}, false},
                        {{7}, {}, false},
                        {{7}, {{-1}}, true},
                        {{3, 5}, {{0}}, false},
                        {{3, 5}, {{1}}, true},
                        {{1, 1}, {{0}}, false},
                        {{2, 3, 4}, {{0, -1}}, false},
                        {{2, 3, 1, 5}, {{1, 3}}, true},
                        {{2, 3, 1, 5}, {}, true},
                        {{0, 3}, {{1}}, false}};
  for (const Case& c : cases) {
    Attributes attributes = more;
    if (c.axes.has_value()) attributes.push_back({"axes", *c.axes});
    attributes.push_back({"keepdim", c.keepdim});
    const Array x = Numbers(dtype, c.shape, -4, 4);
    Check(function, {x}, attributes, Reduced(x, result, c.axes.value_or(Index()), c.keepdim, f),
          tolerance);
  }
}
void CheckFloatsOver(const std::string& function, const Fold& f, Tolerance tolerance = {},
                     const Attributes& more = {}) {
  for (DType d : kFloats) CheckOver(function, d, d, f, tolerance, more);
}

double Sum(Values v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double Product(Values v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); }
double Mean(Values v) { return Sum(v) / static_cast<double>(v.size()); }
double Max(Values v) { return *std::max_element(v.begin(), v.end()); }
double Min(Values v) { return *std::min_element(v.begin(), v.end()); }
double Squares(Values v, double around) {
  double sum = 0;
  for (double x : v) sum += (x - around) * (x - around);
  return sum;
}
double Variance(Values v, double correction) {
  return Squares(v, Mean(v)) / std::max(0.0, static_cast<double>(v.size()) - correction);
}
const Tolerance kAbsolute = {.ulps = 16, .scale = 8};

TEST(Function, sum) {
  CheckFloatsOver("sum", Sum, kAbsolute);
  for (DType d : {kBool, kI8, kI32, kI64}) CheckOver("sum", d, kI64, Sum);
  CheckOver("sum", kU8, kU64, Sum);
  CheckOver("sum", kI32, kF64, Sum, {}, {{"dtype", kF64}});
  Check("sum", {Zeros(kF32, {0, 3})}, {{"axes", 0}}, Zeros(kF32, {3}));
  // Half floats accumulate in float32: 4096 ones are not 2048.
  Check("sum", {Fill(DType::kFloat16, {4096}, [](const Index&) { return 1; })}, {},
        Of(DType::kFloat16, {}, {4096}));
}
TEST(Function, prod) {
  CheckOver("prod", kF64, kF64, Product, {.ulps = 32});
  CheckOver("prod", kI8, kI64, Product);
}
TEST(Function, mean) {
  CheckFloatsOver("mean", Mean, {.scale = 4});
  CheckOver("mean", kI32, kF32, Mean, {.scale = 4});
}
TEST(Function, max) {
  for (DType d : {kBool, kI8, kU8, kF32}) CheckOver("max", d, d, Max);
  Check("max", {Of(kF32, {3}, {1, kNan, 2})}, {}, Of(kF32, {}, {kNan}));
  Check("max", {Zeros(kF32, {0})}, {}, Of(kF32, {}, {-kInf}));
}
TEST(Function, min) {
  for (DType d : {kBool, kI8, kU8, kF32}) CheckOver("min", d, d, Min);
  Check("min", {Zeros(kI8, {0})}, {}, Of(kI8, {}, {127}));
}
TEST(Function, any) {
  for (DType d : {kBool, kI32, kF32}) {
    CheckOver("any", d, kBool, [](Values v) { return Max(v) > 0 || Min(v) < 0; });
  }
}
TEST(Function, all) {
  for (DType d : {kBool, kI32}) {
    CheckOver("all", d, kBool, [](Values v) { return std::count(v.begin(), v.end(), 0) == 0; });
  }
}
TEST(Function, var) {
  CheckFloatsOver("var", [](Values v) { return Variance(v, 1); }, {.ulps = 16});
  CheckOver("var", kF64, kF64, [](Values v) { return Variance(v, 0); }, {}, {{"correction", 0}});
  // Deviations do not cancel.
  Check("var", {Of(kF32, {3}, {10000, 10001, 10002})}, {}, Of(kF32, {}, {1}));
}
TEST(Function, std) {
  CheckFloatsOver("std", [](Values v) { return std::sqrt(Variance(v, 1)); }, {.ulps = 16});
}
TEST(Function, logsumexp) {
  const Fold f = [](Values v) {
    double sum = 0;
    for (double x : v) sum += std::exp(x);
    return std::log(sum);
  };
  CheckFloatsOver("logsumexp", f, {.scale = 1});
  Check("logsumexp", {Of(kF32, {2, 2}, {1000, 1000, -kInf, -kInf})}, {{"axes", 1}},
        Of(kF32, {2}, {1000 + std::log(2), -kInf}));
}
TEST(Function, norm) {
  for (double p : {2.0, 1.0, 0.0, 3.0, kInf, -kInf}) {
    const Fold f = [p](Values v) {
      double sum = 0, most = 0, least = kInf;
      for (double x : v) {
        sum += p == 0 ? x != 0 : std::pow(std::abs(x), p);
        most = std::max(most, std::abs(x));
        least = std::min(least, std::abs(x));
      }
      return p == 0 ? sum : p == kInf ? most : p == -kInf ? least : std::pow(sum, 1 / p);
    };
    CheckOver("norm", kF64, kF64, f, {.ulps = 16}, {{"p", p}});
    CheckOver("norm", kF32, kF32, f, {.ulps = 16}, {{"p", p}});
  }
}
void CheckArg(const std::string& function, const Fold& best) {
  const Fold f = [&](Values v) {
    return static_cast<double>(std::find(v.begin(), v.end(), best(v)) - v.begin());
  };
  for (DType d : {kBool, kI8, kU8, kF32}) {
    const Array x = Numbers(d, {3, 7}, -2, 2);  // With ties.
    Check(function, {x}, {{"axis", -1}}, Reduced(x, kI64, {1}, false, f));
    Check(function, {x}, {{"axis", 0}, {"keepdim", true}}, Reduced(x, kI64, {0}, true, f));
    Check(function, {x}, {}, Reduced(x, kI64, {}, false, f));
  }
  Check(function, {Of(kF32, {4}, {1, kNan, 9, kNan})}, {}, Of(kI64, {}, {1}));
  EXPECT_THAT(Refusal(function, {Zeros(kF32, {0})}, {}), testing::HasSubstr("no element"));
}
TEST(Function, argmax) { CheckArg("argmax", Max); }
TEST(Function, argmin) { CheckArg("argmin", Min); }

void CheckRunning(const std::string& function, DType dtype, DType result,
                  double (*f)(double, double)) {
  for (bool reverse : {false, true}) {
    for (const auto& [shape, axis] : {std::pair<Index, int64_t>{{7}, 0},
                                      {{3, 5}, 0},
                                      {{3, 5}, -1},
                                      {{2, 1, 4}, 1},
                                      {{0}, 0},
                                      {{2, 601}, 1}}) {
      if (function == "cumprod" && shape.back() > 9) continue;
      const Array x = Numbers(dtype, shape, -4, 4);
      const Attributes attributes = {{"axis", axis}, {"reverse", reverse}};
      const auto run = [&](std::vector<double>& v) {
        if (reverse) std::reverse(v.begin(), v.end());
        for (size_t i = 1; i < v.size(); ++i) v[i] = f(v[i - 1], v[i]);
        if (reverse) std::reverse(v.begin(), v.end());
      };
      Check(function, {x}, attributes, Lines(x, result, axis, run), {.ulps = 64, .scale = 8});
    }
  }
}
TEST(Function, cumsum) {
  CheckRunning("cumsum", kF64, kF64, [](double x, double y) { return x + y; });
  CheckRunning("cumsum", kF32, kF32, [](double x, double y) { return x + y; });
  CheckRunning("cumsum", kI8, kI64, [](double x, double y) { return x + y; });
}
TEST(Function, cumprod) {
  CheckRunning("cumprod", kF64, kF64, [](double x, double y) { return x * y; });
}
void CheckRunningExtreme(const std::string& function, bool largest) {
  for (bool reverse : {false, true}) {
    for (DType d : {kI8, kF32}) {
      for (const auto& [shape, axis] : {std::pair<Index, int64_t>{{7}, 0},
                                        {{3, 5}, 0},
                                        {{2, 5, 3}, 1},
                                        {{2, 301}, -1},
                                        {{0}, 0}}) {
        Array x = Numbers(d, shape, -4, 4);
        if (d == kF32 && shape.size() == 2) x.v[9] = kNan;
        const auto run = [&](std::vector<double>& v, bool index) {
          if (reverse) std::reverse(v.begin(), v.end());
          double best = 0, at = 0;
          for (size_t i = 0; i < v.size(); ++i) {
            const bool is_met = largest ? v[i] >= best : v[i] <= best;
            if (i == 0 || std::isnan(v[i]) || (!std::isnan(best) && is_met)) {
              best = v[i];
              at = static_cast<double>(reverse ? v.size() - 1 - i : i);
            }
            v[i] = index ? at : best;
          }
          if (reverse) std::reverse(v.begin(), v.end());
        };
        Check(function, {x}, {{"axis", axis}, {"reverse", reverse}},
              Arrays{Lines(x, d, axis, [&](std::vector<double>& v) { run(v, false); }),
                     Lines(x, kI64, axis, [&](std::vector<double>& v) { run(v, true); })});
      }
    }
  }
}
TEST(Function, cummax) { CheckRunningExtreme("cummax", true); }
TEST(Function, cummin) { CheckRunningExtreme("cummin", false); }
TEST(Function, logcumsumexp) {
  CheckRunning("logcumsumexp", kF64, kF64, [](double x, double y) {
    return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
  });
  Check("logcumsumexp", {Of(kF32, {4}, {-kInf, -1000, 1000, 1000})}, {},
        Of(kF32, {4}, {-kInf, -1000, 1000, 1000 + std::log(2)}));
}

}  // namespace
}  // namespace kiln::tensor::functions
