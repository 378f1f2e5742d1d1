// Gradients where formulas are tempted to overflow, to cancel, or to multiply infinity by 0.
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/gradient/gradient_check.h"

namespace kiln::tensor::functions {
namespace {

using ::kiln::support::BuildFn;
using ::kiln::support::GradientsAt;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using Number = long double;
using Numbers = std::vector<double>;
using Slots = std::map<int64_t, Numbers>;

constexpr DType kF64 = DType::kFloat64, kF32 = DType::kFloat32;
constexpr double kInf = std::numeric_limits<double>::infinity();

// A function of float64 inputs of these shapes, computed in `dtype`.
BuildFn Of(const std::string& function, const std::vector<std::vector<int64_t>>& shapes,
           const std::vector<Attribute>& attributes = {}, DType dtype = kF64) {
  return [=](GraphBuilder& b) -> absl::StatusOr<Value> {
    std::vector<std::optional<Source>> inputs;
    for (const std::vector<int64_t>& shape : shapes) {
      const auto slot = static_cast<int64_t>(inputs.size());
      const auto x = b.Input(slot, kF64, std::vector<Dim>(shape.begin(), shape.end()));
      inputs.emplace_back(b.Cast(x, dtype));
    }
    const auto y = b.Call(function, inputs, attributes);
    if (!y.ok()) return y.status();
    return b.Cast((*y)[0], kF64);
  };
}

// The gradient of the gradient of a function of one number, at each of `xs`.
Numbers Curvatures(const std::string& function, const Numbers& xs) {
  const BuildFn build = [&](GraphBuilder& b) -> absl::StatusOr<Value> {
    const auto x = b.Input(0, kF64, {static_cast<int64_t>(xs.size())});
    const auto y = b.Call(function, {x});
    if (!y.ok()) return y.status();
    return b.Gradient((*y)[0], std::nullopt, {x}, 0);
  };
  return GradientsAt(build, {{0, xs}})[0];
}

struct Slope {
  std::string function;
  Number (*slope)(Number x);
  Numbers xs;
  std::vector<Attribute> attributes = {};
  // Relative to the slope; to 1, where the slope crosses 0.
  double tolerance = 4e-7;
  double tolerance64 = 4e-15;
  bool is_absolute = false;
};

Number Bell(Number x) {  // sigmoid'(x)
  const Number e = std::exp(-std::fabs(x));
  return e / ((1 + e) * (1 + e));
}
Number Logistic(Number x) { return 1 / (1 + std::exp(-x)); }
Number Sech2(Number x) { return 4 * Bell(2 * x); }
Number Normal(Number x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Number>); }

std::vector<Slope> Slopes() {
  const Numbers far = {-1e4, -1000, -100, -88.5, -40,  -17, -3,   -1e-8, 0,
                       1e-8, 3,     17,   40,    88.5, 100, 1000, 1e4};
  return {
      {"sigmoid", Bell, far, {}, 2e-5, 2e-13},  // e^x is off by x roundings.
      {"tanh", Sech2, far, {}, 2e-5, 2e-13},
      {"softplus", Logistic, far, {}, 2e-5, 2e-13},
      {"log_sigmoid", [](Number x) { return Logistic(-x); }, far, {}, 2e-5, 2e-13},
      {"silu", [](Number x) { return Logistic(x) + x * Bell(x); }, far, {}, 1e-6, 1e-14, true},
      {"quick_gelu",
       [](Number x) { return Logistic(1.702L * x) + 1.702L * x * Bell(1.702L * x); },
       far,
       {},
       1e-6,
       1e-14,
       true},
      {"mish",
       [](Number x) {
         const Number s = x > 100 ? x : std::log1p(std::exp(x));
         return std::tanh(s) + x * Sech2(s) * Logistic(x);
       },
       far,
       {},
       1e-6,
       1e-14,
       true},
      {"gelu",
       [](Number x) { return std::erfc(-x / std::numbers::sqrt2_v<Number>) / 2 + x * Normal(x); },
       far,
       {},
       1e-6,
       1e-14,
       true},
      {"gelu",
       [](Number x) {
         const Number scale = std::sqrt(2 / std::numbers::pi_v<Number>);
         const Number u = scale * (x + 0.044715L * x * x * x);
         const Number bend =
             std::fabs(x) > 100 ? 0 : x / 2 * Sech2(u) * scale * (1 + 3 * 0.044715L * x * x);
         return (1 + std::tanh(u)) / 2 + bend;
       },
       {-1e30, -1e4, -30, -6, -1, 0, 1, 6, 30, 1e4, 1e30},
       {{"approximate", "tanh"}},
       1e-6,
       1e-14,
       true},
      {"elu", [](Number x) { return x > 0 ? 1 : std::exp(x); }, far, {}, 2e-5, 2e-13},
      {"celu", [](Number x) { return x > 0 ? 1 : std::exp(x); }, far, {}, 2e-5, 2e-13},
      {"selu",
       [](Number x) {
         return 1.0507009873554804934L * (x > 0 ? 1 : 1.6732632423543772848L * std::exp(x));
       },
       far,
       {},
       2e-5,
       2e-13},
      {"softsign",
       [](Number x) { return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x))); },
       {-1e15, -1e5, -1, 0, 1, 1e5, 1e15}},
      {"log1p",
       [](Number x) { return 1 / (1 + x); },
       {-1, -1 + 1.0 / 1024, -0.5, -1e-4, -1e-7, -1e-10, 0, 1e-17, 1e-10, 6e-8, 1e-7, 1e-4, 1e-3, 1,
        1e10, 1e30}},
      {"expm1",
       [](Number x) { return std::exp(x); },
       {-80, -1, -0.5, -1e-4, -1e-7, -1e-10, 0, 1e-17, 1e-10, 6e-8, 1e-7, 1e-4, 1e-3, 0.999, 1, 80},
       {},
       2e-5,
       2e-13},
      {"asinh",
       [](Number x) { return 1 / std::sqrt(1 + x * x); },
       {-1e20, -1e5, -1, -1e-10, 0, 1e-10, 1, 1e5, 1e20}},
      {"acosh",
       [](Number x) { return 1 / std::sqrt((x - 1) * (x + 1)); },
       {1, 1 + 1.0 / 4096, 2, 1e5, 1e20}},
      {"atanh",
       [](Number x) { return 1 / ((1 - x) * (1 + x)); },
       {-1, -1 + 1.0 / 4096, -0.5, -1e-10, 0, 1e-10, 0.5, 1 - 1.0 / 4096, 1}},
      {"asin",
       [](Number x) { return 1 / std::sqrt((1 - x) * (1 + x)); },
       {-1, -1 + 1.0 / 4096, -0.5, -1e-10, 0, 1e-10, 0.5, 1 - 1.0 / 4096, 1},
       {},
       1e-6,
       1e-14},
      {"acos",
       [](Number x) { return -1 / std::sqrt((1 - x) * (1 + x)); },
       {-1, -1 + 1.0 / 4096, -0.5, -1e-10, 0, 1e-10, 0.5, 1 - 1.0 / 4096, 1},
       {},
       1e-6,
       1e-14},
      {"atan",
       [](Number x) { return 1 / (1 + x * x); },
       {-1e15, -1e5, -1.001, -1, -0.999, 0, 1e-10, 1, 1.001, 1e5, 1e15},
       {},
       2e-6,
       2e-14},
      {"sinh",
       [](Number x) { return std::cosh(x); },
       {-80, -21, -19, -1, -1e-10, 0, 1e-10, 1, 80},
       {},
       2e-5,
       2e-13},
      {"cosh", [](Number x) { return std::sinh(x); }, {-80, -1, 0, 1, 80}, {}, 2e-5, 2e-13},
      {"erf",
       [](Number x) { return 2 * std::numbers::inv_sqrtpi_v<Number> * std::exp(-x * x); },
       {-8, -4.1, -1, -0.46, 0, 1e-10, 0.47, 3.9, 5, 8, 1000},
       {},
       1e-5,
       1e-13},
      {"erfc",
       [](Number x) { return -2 * std::numbers::inv_sqrtpi_v<Number> * std::exp(-x * x); },
       {-8, -4.1, -1, -0.46, 0, 1e-10, 0.47, 3.9, 5, 8, 1000},
       {},
       1e-5,
       1e-13},
      {"sqrt", [](Number x) { return 0.5L / std::sqrt(x); }, {0, 1e-30, 1e30}},  // Infinite at 0.
      {"cbrt",
       [](Number x) { return 1 / (3 * std::cbrt(x) * std::cbrt(x)); },
       {-8, 0, 1e-15, 8},
       {},
       4e-6,
       4e-14},
      {"abs", [](Number x) { return Number(x > 0) - Number(x < 0); }, {-1e30, -1, 0, 1, 1e30}},
  };
}

TEST(GradientExtremes, OfFunctionsOfOneNumber) {
  for (const Slope& s : Slopes()) {
    for (DType dtype : {kF64, kF32}) {
      const Numbers slopes =
          GradientsAt(Of(s.function, {{static_cast<int64_t>(s.xs.size())}}, s.attributes, dtype),
                      {{0, s.xs}})[0];
      for (size_t i = 0; i < s.xs.size(); ++i) {
        const double x = dtype == kF32 ? static_cast<float>(s.xs[i]) : s.xs[i];
        const auto want = static_cast<double>(s.slope(x));
        if (slopes[i] == want) continue;
        // What is that small may be rounded to 0.
        const double least = dtype == kF32 ? 2e-38 : 1e-307;
        const double unit = s.is_absolute ? 1 : std::fabs(want);
        EXPECT_NEAR(slopes[i], want, (dtype == kF32 ? s.tolerance : s.tolerance64) * unit + least)
            << s.function << " at " << x << " in " << dtype::Name(dtype);
      }
    }
  }
}

TEST(GradientExtremes, SecondDerivativesAtZero) {
  EXPECT_THAT(Curvatures("softplus", {0, -0.0, 1000, -1000}), ElementsAre(0.25, 0.25, 0, 0));
  EXPECT_THAT(Curvatures("sigmoid", {0, 1000, -1000}), ElementsAre(0, 0, 0));
  EXPECT_THAT(Curvatures("cosh", {0}), ElementsAre(DoubleNear(1, 1e-15)));
  EXPECT_THAT(Curvatures("silu", {0, 1000, -1000}), ElementsAre(DoubleNear(0.5, 1e-15), 0, 0));
  EXPECT_THAT(Curvatures("tanh", {0, 1000, -1000}), ElementsAre(0, 0, 0));
  EXPECT_THAT(Curvatures("mish", {0})[0], DoubleNear(0.64, 1e-14));
  EXPECT_THAT(Curvatures("gelu", {0})[0], DoubleNear(std::sqrt(2 / std::numbers::pi), 1e-14));
  EXPECT_THAT(Curvatures("log1p", {0, 1e-12}), Each(DoubleNear(-1, 1e-11)));
  EXPECT_THAT(Curvatures("expm1", {0, 1e-12}), Each(DoubleNear(1, 1e-11)));
  EXPECT_THAT(Curvatures("asinh", {0}), ElementsAre(DoubleNear(0, 1e-15)));
}

TEST(GradientExtremes, OfTwoEqualNumbers) {
  const Slots ties = {{0, {1, -2, 0, kInf, -kInf, 1e4}}, {1, {1, -2, 0, kInf, -kInf, -1e4}}};
  const auto sums = GradientsAt(Of("logaddexp", {{6}, {6}}), ties);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(sums[0][i] + sums[1][i], 1, 1e-15) << i;
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(sums[0][i], 0.5, 1e-15) << i;
  EXPECT_EQ(sums[0][5], 1);

  // By ordinate and abscissa: (x, -y) / (x^2 + y^2); 0 at the origin.
  const auto angles = GradientsAt(Of("atan2", {{7}, {7}}),
                                  {{0, {1, -1, 2, 0, 0, 3, 0}}, {1, {1, 1, -2, 5, -4, 0, 0}}});
  const Numbers want_y = {0.5, 0.5, -0.25, 0.2, -0.25, 0, 0},
                want_x = {-0.5, 0.5, -0.25, 0, 0, -1.0 / 3, 0};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(angles[0][i], want_y[i], 1e-15) << i;
    EXPECT_NEAR(angles[1][i], want_x[i], 1e-15) << i;
  }
}

TEST(GradientExtremes, OfLengthsAreZeroAtZero) {
  for (double p : {2.0, 3.0, 1.0, 1.5, 0.5}) {
    const auto grads = GradientsAt(Of("norm", {{3}}, {{"p", p}}), {{0, {0, 0, 0}}});
    EXPECT_THAT(grads[0], Each(0)) << p;
  }
  EXPECT_THAT(GradientsAt(Of("norm", {{3}}, {{"p", 3.0}}), {{0, {0, 2, 0}}})[0],
              ElementsAre(0, DoubleNear(1, 1e-15), 0));
  EXPECT_THAT(GradientsAt(Of("std", {{3}}), {{0, {4, 4, 4}}})[0], Each(0));
  EXPECT_THAT(GradientsAt(Of("var", {{3}}), {{0, {1e8, 1e8, 1e8}}})[0], Each(0));
  EXPECT_THAT(GradientsAt(Of("layer_norm", {{3}}), {{0, {4, 4, 4}}})[0], Each(0));
  EXPECT_THAT(GradientsAt(Of("normalize", {{2}}, {{"eps", 0.5}}), {{0, {0, 0}}})[0], Each(2));
  EXPECT_THAT(GradientsAt(Of("cosine_similarity", {{2}, {2}}), {{0, {0, 0}}, {1, {3, 4}}})[1],
              Each(0));
  EXPECT_THAT(GradientsAt(Of("cosine_similarity", {{2}, {2}}, {{"eps", 0.5}}),
                          {{0, {0, 0}}, {1, {3, 4}}})[0],
              ElementsAre(DoubleNear(1.2, 1e-15), DoubleNear(1.6, 1e-15)));
  EXPECT_THAT(GradientsAt(Of("clip_by_norm", {{}, {2}}), {{0, {1}}, {1, {0, 0}}})[1], Each(1));
}

TEST(GradientExtremes, OfLosses) {
  const std::vector<Attribute> none = {{"reduction", "none"}};
  for (DType dtype : {kF64, kF32}) {
    const auto logits = GradientsAt(Of("bce_with_logits_loss", {{5}, {5}}, none, dtype),
                                    {{0, {1e4, -1e4, 1e4, -1e4, 0}}, {1, {1, 0, 0, 1, 0.5}}});
    EXPECT_THAT(logits[0], ElementsAre(0, 0, 1, -1, 0));
    const auto bce = GradientsAt(Of("bce_loss", {{4}, {4}}, none, dtype),
                                 {{0, {0, 1, 0, 1}}, {1, {0, 1, 1, 0}}});
    EXPECT_THAT(bce[0], ElementsAre(1, -1, 0, 0));
    const auto soft = GradientsAt(Of("log_softmax", {{1, 3}}, {}, dtype), {{0, {1e4, -1e4, 1e4}}});
    EXPECT_THAT(soft[0], ElementsAre(DoubleNear(-0.5, 1e-6), 1, DoubleNear(-0.5, 1e-6)));
    EXPECT_THAT(GradientsAt(Of("softmax", {{3}}, {}, dtype), {{0, {1e30, -1e30, 0}}})[0], Each(0));
    EXPECT_THAT(GradientsAt(Of("softmax", {{3}}, {}, dtype), {{0, {1, -kInf, -kInf}}})[0], Each(0));
    EXPECT_THAT(GradientsAt(Of("logsumexp", {{4}}, {}, dtype), {{0, {1e4, -kInf, -1e4, 1e4}}})[0],
                ElementsAre(0.5, 0, 0, 0.5));
  }
  const BuildFn cross_entropy = [](GraphBuilder& b) -> absl::StatusOr<Value> {
    const auto x = b.Input(0, kF64, {2, 3});
    const auto loss = b.Call("cross_entropy", {Source(x), Source(b.Input(1, DType::kInt32, {2}))});
    if (!loss.ok()) return loss.status();
    return (*loss)[0];
  };
  EXPECT_THAT(GradientsAt(cross_entropy, {{0, {1e4, -1e4, 0, 1e4, -1e4, 0}}, {1, {0, 1}}})[0],
              ElementsAre(0, 0, 0, 0.5, -0.5, 0));
  const auto kl = GradientsAt(Of("kl_div", {{2}, {2}}, none), {{0, {-3, -3}}, {1, {0, 1}}});
  EXPECT_THAT(kl[0], ElementsAre(0, -1));
  EXPECT_THAT(kl[1], ElementsAre(0, 4));
}

// Sums over many elements of 16 bits: 2048 ones in float16, 256 in bfloat16, and no more.
TEST(GradientExtremes, NarrowFloatsAreAccumulatedInFloat32) {
  constexpr int64_t kMany = 4096;
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const Numbers ones(kMany, 1.0);
    const auto product =
        GradientsAt(Of("matmul", {{kMany, 1}, {1, 1}}, {}, dtype), {{0, ones}, {1, {1}}});
    EXPECT_THAT(product[1], ElementsAre(kMany));
    const auto linear = GradientsAt(Of("linear", {{kMany, 1}, {1, 1}, {1}}, {}, dtype),
                                    {{0, ones}, {1, {1}}, {2, {0}}});
    EXPECT_THAT(linear[1], ElementsAre(kMany));
    EXPECT_THAT(linear[2], ElementsAre(kMany));
    EXPECT_THAT(GradientsAt(Of("add", {{kMany}, {1}}, {}, dtype), {{0, ones}, {1, {1}}})[1],
                ElementsAre(kMany));
    EXPECT_THAT(GradientsAt(Of("layer_norm", {{kMany, 1}, {1}, {1}}, {}, dtype),
                            {{0, ones}, {1, {1}}, {2, {1}}})[2],
                ElementsAre(kMany));
    const BuildFn gather = [dtype](GraphBuilder& b) -> absl::StatusOr<Value> {
      const auto rows = b.Call("embedding", {Source(b.Input(1, DType::kInt32, {kMany})),
                                             Source(b.Cast(b.Input(0, kF64, {2, 1}), dtype))});
      if (!rows.ok()) return rows.status();
      return b.Cast((*rows)[0], kF64);
    };
    EXPECT_THAT(GradientsAt(gather, {{0, {1, 2}}, {1, Numbers(kMany, 1)}})[0],
                ElementsAre(0, kMany));
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
