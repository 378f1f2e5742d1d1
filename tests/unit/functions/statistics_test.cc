#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kI32 = DType::kInt32, kI64 = DType::kInt64, kF32 = DType::kFloat32,
                kF64 = DType::kFloat64;
using Values = const std::vector<double>&;
const Tolerance kAbsolute = {.ulps = 16, .scale = 8};

void CheckOver(const std::string& function, DType dtype, DType result,
               const std::function<double(Values)>& f, const Attributes& more = {},
               Tolerance tolerance = {}, bool has_nan = false) {
  struct Case {
    Index shape;
    std::optional<Index> axes;
    bool keepdim;
  };
  for (const Case& c : {Case{{7}, {}, false},
                        {{6}, {{0}}, true},
                        {{3, 5}, {{0}}, false},
                        {{2, 3, 4}, {{0, -1}}, true},
                        {{2, 3, 4}, {}, false},
                        {{2, 40}, {{1}}, false}}) {
    Array x = Numbers(dtype, c.shape, -4, 4);
    if (has_nan) x.v[1] = kNan;
    Attributes attributes = more;
    if (c.axes.has_value()) attributes.push_back({"axes", *c.axes});
    attributes.push_back({"keepdim", c.keepdim});
    Check(function, {x}, attributes, Reduced(x, result, c.axes.value_or(Index()), c.keepdim, f),
          tolerance);
  }
}
std::vector<double> Numeric(Values v) {
  std::vector<double> kept;
  std::copy_if(v.begin(), v.end(), std::back_inserter(kept), [](double x) { return x == x; });
  return kept;
}
double Sum(Values v) { return std::accumulate(v.begin(), v.end(), 0.0); }

TEST(Function, count_nonzero) {
  for (DType d : {DType::kBool, kI32, kF32}) {
    CheckOver("count_nonzero", d, kI64, [](Values v) {
      return static_cast<double>(v.size()) - static_cast<double>(std::count(v.begin(), v.end(), 0));
    });
  }
}
TEST(Function, nansum) {
  CheckOver("nansum", kF32, kF32, [](Values v) { return Sum(Numeric(v)); }, {}, kAbsolute, true);
}
TEST(Function, nanmean) {
  CheckOver(
      "nanmean", kF64, kF64,
      [](Values v) { return Sum(Numeric(v)) / static_cast<double>(Numeric(v).size()); }, {},
      kAbsolute, true);
}
TEST(Function, aminmax) {
  for (DType d : {kF32, DType::kUInt8}) {
    const Array x = Numbers(d, {3, 5}, -9, 9);
    const auto least = [](Values v) { return *std::min_element(v.begin(), v.end()); };
    const auto most = [](Values v) { return *std::max_element(v.begin(), v.end()); };
    Check("aminmax", {x}, {{"axes", 1}},
          Arrays{Reduced(x, d, {1}, false, least), Reduced(x, d, {1}, false, most)});
  }
}
double Quantile(std::vector<double> v, double q, const std::string& method) {
  for (double x : v) {
    if (x != x) return x;
  }
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1), low = std::floor(at),
               high = std::ceil(at);
  const double a = v[static_cast<size_t>(low)], b = v[static_cast<size_t>(high)];
  if (method == "lower") return a;
  if (method == "higher") return b;
  if (method == "midpoint") return (a + b) / 2;
  if (method == "nearest") return v[static_cast<size_t>(std::nearbyint(at))];
  return a + (b - a) * (at - low);
}
TEST(Function, quantile) {
  for (const std::string method : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    for (double q : {0.0, 0.25, 0.5, 0.9, 1.0}) {
      const Attributes attributes = {{"q", q}, {"method", method}};
      CheckOver("quantile", kF64, kF64, [&](Values v) { return Quantile(v, q, method); },
                attributes, {.scale = 4});
    }
  }
  CheckOver(
      "quantile", kF32, kF32, [&](Values v) { return Quantile(v, 0.5, "linear"); }, {{"q", 0.5}},
      {.scale = 4}, true);
  EXPECT_THAT(Refusal("quantile", {Zeros(kF32, {3})}, {{"q", 2}}),
              HasSubstr("q: 2 given, it must be between 0 and 1"));
  EXPECT_THAT(Refusal("quantile", {Zeros(kF32, {0})}, {{"q", 0.5}}), HasSubstr("no element"));
}
TEST(Function, median) {
  CheckOver("median", kF32, kF32, [](Values v) { return Quantile(v, 0.5, "midpoint"); });
  CheckOver("median", kF32, kF32, [](Values v) { return Quantile(v, 0.5, "lower"); },
            {{"lower", true}});
}
double Covariance(const Array& x, int64_t i, int64_t k, double correction) {
  const auto n = static_cast<double>(x.shape[1]);
  double sum_i = 0, sum_k = 0, sum = 0;
  for (int64_t j = 0; j < x.shape[1]; ++j) {
    sum_i += x[{i, j}];
    sum_k += x[{k, j}];
  }
  for (int64_t j = 0; j < x.shape[1]; ++j) sum += (x[{i, j}] - sum_i / n) * (x[{k, j}] - sum_k / n);
  return sum / (n - correction);
}
TEST(Function, cov) {
  const Array x = Numbers(kF64, {3, 6});
  for (double correction : {0.0, 1.0}) {
    Check("cov", {x}, {{"correction", correction}},
          Fill(kF64, {3, 3},
               [&](const Index& at) { return Covariance(x, at[0], at[1], correction); }),
          kAbsolute);
  }
  const Array v = Numbers(kF64, {6});
  Check("cov", {v}, {}, Of(kF64, {}, {Covariance(Reshaped(v, {1, 6}), 0, 0, 1)}), kAbsolute);
}
TEST(Function, corrcoef) {
  const Array x = Numbers(kF64, {3, 6});
  Check("corrcoef", {x}, {},
        Fill(kF64, {3, 3},
             [&](const Index& at) {
               return Covariance(x, at[0], at[1], 1) /
                      std::sqrt(Covariance(x, at[0], at[0], 1) * Covariance(x, at[1], at[1], 1));
             }),
        kAbsolute);
}
TEST(Function, diff) {
  const Array x = Numbers(kI32, {3, 5}, -9, 9);
  for (int64_t order : {0, 1, 2}) {
    for (int64_t axis : {0, -1}) {
      Check("diff", {x}, {{"axis", axis}, {"order", order}},
            Lines(x, kI32, axis, [&](std::vector<double>& v) {
              for (int64_t i = 0; i < order && !v.empty(); ++i) {
                for (size_t k = 0; k + 1 < v.size(); ++k) v[k] = v[k + 1] - v[k];
                v.pop_back();
              }
            }));
    }
  }
}
TEST(Function, trapezoid) {
  const Array y = Numbers(kF64, {3, 5}, -3, 3, 1), x = Numbers(kF64, {5}, -3, 3, 2);
  for (bool given : {false, true}) {
    const Array want = Fill(kF64, {3}, [&](const Index& at) {
      double sum = 0;
      for (int64_t i = 0; i < 4; ++i) {
        const double step = given ? x[{i + 1}] - x[{i}] : 0.5;
        sum += (y[{at[0], i}] + y[{at[0], i + 1}]) / 2 * step;
      }
      return sum;
    });
    Inputs inputs = {y};
    if (given) inputs.emplace_back(x);
    Check("trapezoid", inputs, {{"dx", 0.5}}, want, kAbsolute);
  }
  EXPECT_THAT(Refusal("trapezoid", {y, Zeros(kF64, {4})}, {}),
              HasSubstr("x: its shape is (4), it must be (5)"));
}

}  // namespace
}  // namespace kiln::tensor::functions
