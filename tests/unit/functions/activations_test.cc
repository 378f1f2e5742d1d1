#include <cmath>
#include <numbers>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::log1p(std::exp(x)); }
double Clamp(double x, double lo, double hi) { return std::min(std::max(x, lo), hi); }
// Differences of numbers around 1 are off by roundings of 1.
const Tolerance kAbsolute = {.scale = 1};

TEST(Function, relu) {
  CheckFloats("relu", [](double x) { return std::max(x, 0.0); });
  const Array x = Numbers(DType::kInt32, {7}, -5, 5);
  Check("relu", {x}, {}, Map(x, [](double v) { return std::max(v, 0.0); }));
}
TEST(Function, relu6) {
  CheckFloats("relu6", [](double x) { return Clamp(x, 0, 6); }, -9, 9);
}
TEST(Function, leaky_relu) {
  CheckFloats("leaky_relu", [](double x) { return x < 0 ? 0.01 * x : x; });
  CheckFloats("leaky_relu", [](double x) { return x < 0 ? 0.3 * x : x; }, -3, 3, {},
              {{"negative_slope", 0.3}});
}
TEST(Function, prelu) {
  const Array x = Numbers(DType::kFloat32, {3, 5}), w = Numbers(DType::kFloat32, {5}, 0, 1);
  Check("prelu", {x, w}, {},
        Map2(x, w, DType::kFloat32, [](double v, double slope) { return v < 0 ? v * slope : v; }));
}
TEST(Function, elu) {
  CheckFloats("elu", [](double x) { return x > 0 ? x : std::expm1(x); });
  CheckFloats("elu", [](double x) { return x > 0 ? x : 2 * std::expm1(x); }, -3, 3, {},
              {{"alpha", 2.0}});
}
TEST(Function, celu) {
  CheckFloats("celu", [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }, -3, 3, {},
              {{"alpha", 2.0}});
}
TEST(Function, selu) {
  CheckFloats("selu", [](double x) {
    return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
  });
}
TEST(Function, gelu) {
  CheckFloats("gelu", [](double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }, -5, 5,
              {.ulps = 64});
  CheckFloats(
      "gelu",
      [](double x) {
        return x / 2 *
               (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
      },
      -5, 5, kAbsolute, {{"approximate", "tanh"}});
}
TEST(Function, quick_gelu) {
  CheckFloats("quick_gelu", [](double x) { return x * Sigmoid(1.702 * x); }, -3, 3, {.ulps = 16});
}
TEST(Function, sigmoid) {
  CheckFloats("sigmoid", Sigmoid, -9, 9, {.ulps = 16});
  Check("sigmoid", {Of(DType::kFloat32, {2}, {-1000, 1000})}, {}, Of(DType::kFloat32, {2}, {0, 1}));
}
TEST(Function, log_sigmoid) {
  CheckFloats("log_sigmoid", [](double x) { return -Softplus(-x); }, -9, 9, {.ulps = 16});
}
TEST(Function, silu) {
  CheckFloats("silu", [](double x) { return x * Sigmoid(x); });
}
TEST(Function, mish) {
  CheckFloats("mish", [](double x) { return x * std::tanh(Softplus(x)); }, -3, 3, {.ulps = 16});
}
TEST(Function, softplus) {
  CheckFloats("softplus", Softplus, -9, 9, {.ulps = 16});
  CheckFloats("softplus", [](double x) { return Softplus(2 * x) / 2; }, -3, 3, {.ulps = 16},
              {{"beta", 2}});
  Check("softplus", {Of(DType::kFloat32, {2}, {-1000, 1000})}, {},
        Of(DType::kFloat32, {2}, {0, 1000}));
}
TEST(Function, softsign) {
  CheckFloats("softsign", [](double x) { return x / (1 + std::abs(x)); });
}
TEST(Function, hard_sigmoid) {
  CheckFloats("hard_sigmoid", [](double x) { return Clamp(x + 3, 0, 6) / 6; }, -5, 5, kAbsolute);
}
TEST(Function, hard_swish) {
  CheckFloats("hard_swish", [](double x) { return x * Clamp(x + 3, 0, 6) / 6; }, -5, 5, kAbsolute);
}
TEST(Function, hard_tanh) {
  CheckFloats("hard_tanh", [](double x) { return Clamp(x, -2, 1); }, -3, 3, {}, {{"min", -2}});
}
TEST(Function, tanh_shrink) {
  CheckFloats("tanh_shrink", [](double x) { return x - std::tanh(x); }, -3, 3, kAbsolute);
}
TEST(Function, soft_shrink) {
  CheckFloats(
      "soft_shrink", [](double x) { return x > 0.5    ? x - 0.5
                                           : x < -0.5 ? x + 0.5
                                                      : 0; }, -3, 3,
      kAbsolute);
}
TEST(Function, hard_shrink) {
  CheckFloats("hard_shrink", [](double x) { return std::abs(x) > 0.5 ? x : 0; });
}
TEST(Function, glu) {
  const Array x = Numbers(DType::kFloat32, {3, 6});
  Check("glu", {x}, {{"axis", 1}}, Lines(x, x.dtype, 1, [](std::vector<double>& v) {
          const size_t n = v.size() / 2;
          for (size_t i = 0; i < n; ++i) v[i] *= Sigmoid(v[i + n]);
          v.resize(n);
        }));
}

TEST(Function, threshold) {
  CheckFloats("threshold", [](double x) { return x > 0.5 ? x : -2; }, -3, 3, {},
              {{"threshold", 0.5}, {"value", -2}});
}

}  // namespace
}  // namespace kiln::tensor::functions
