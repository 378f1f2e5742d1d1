// Losses of distributions and distances; the others are in norms_test.cc.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64;
const Tolerance kAbsolute = {.ulps = 32, .scale = 4};

double Total(const Array& losses) {
  double total = 0;
  for (double v : losses.v) total += v;
  return total;
}
// By each reduction of the elements of `losses`.
void CheckReductions(const std::string& function, const Inputs& inputs, const Attributes& more,
                     const Array& losses) {
  const double total = Total(losses);
  for (const auto& [reduction, want] :
       {std::pair<std::string, Array>{"none", losses},
        {"sum", Of(losses.dtype, {}, {total})},
        {"mean", Of(losses.dtype, {}, {total / static_cast<double>(losses.v.size())})}}) {
    Attributes attributes = more;
    attributes.push_back({"reduction", reduction});
    Check(function, inputs, attributes, want, kAbsolute);
  }
}
void CheckLoss(const std::string& function, const std::function<double(double, double)>& f,
               const Attributes& more = {}, double lo = -3, double target_lo = -3) {
  for (DType d : {kF32, kF64}) {
    const Array x = Numbers(d, {3, 4}, lo, 3, 1), t = Numbers(d, {4}, target_lo, 3, 2);
    CheckReductions(function, {x, t}, more, Map2(x, t, d, f));
  }
}
Array Signs(DType d, const Index& shape) {
  return Map(Numbers(d, shape, -1, 1, 7), [](double v) { return v < 0 ? -1 : 1; });
}

TEST(Function, poisson_nll_loss) {
  CheckLoss("poisson_nll_loss", [](double x, double t) { return std::exp(x) - t * x; }, {}, -3, 0);
  CheckLoss(
      "poisson_nll_loss", [](double x, double t) { return x - t * std::log(x + 0.01); },
      {{"log_input", false}, {"eps", 0.01}}, 0.1, 0);
}
TEST(Function, soft_margin_loss) {
  const Array x = Numbers(kF32, {3, 4}), t = Signs(kF32, {4});
  CheckReductions("soft_margin_loss", {x, t}, {}, Map2(x, t, kF32, [](double a, double b) {
                    return std::log1p(std::exp(-a * b));
                  }));
  Check("soft_margin_loss", {Of(kF32, {}, {-1000}), Of(kF32, {}, {1})}, {}, Of(kF32, {}, {1000}));
}
TEST(Function, hinge_embedding_loss) {
  const Array x = Numbers(kF32, {3, 4}, 0, 3), t = Signs(kF32, {3, 4});
  CheckReductions(
      "hinge_embedding_loss", {x, t}, {{"margin", 1.5}},
      Map2(x, t, kF32, [](double a, double b) { return b == 1 ? a : std::max(1.5 - a, 0.0); }));
}
TEST(Function, gaussian_nll_loss) {
  const Array x = Numbers(kF64, {3, 4}, -3, 3, 1), t = Numbers(kF64, {3, 4}, -3, 3, 2),
              var = Of(kF64, {4}, {0.5, 2, 1, 1e-9});
  CheckReductions("gaussian_nll_loss", {x, t, var}, {{"eps", 0.1}},
                  Fill(kF64, {3, 4}, [&](const Index& at) {
                    const double v = std::max(var[{at[1]}], 0.1);
                    return (std::log(v) + std::pow(x[at] - t[at], 2) / v) / 2;
                  }));
}
TEST(Function, margin_ranking_loss) {
  const Array x = Numbers(kF32, {3, 4}, -3, 3, 1), y = Numbers(kF32, {3, 4}, -3, 3, 2),
              t = Signs(kF32, {3, 4});
  CheckReductions("margin_ranking_loss", {x, y, t}, {{"margin", 0.5}},
                  Fill(kF32, {3, 4}, [&](const Index& at) {
                    return std::max(0.5 - t[at] * (x[at] - y[at]), 0.0);
                  }));
}
TEST(Function, triplet_margin_loss) {
  const Array a = Numbers(kF64, {3, 5}, -1, 1, 1), p = Numbers(kF64, {3, 5}, -1, 1, 2),
              n = Numbers(kF64, {3, 5}, -1, 1, 3);
  for (double order : {2.0, 3.0, 1.0}) {
    const auto distance = [&](const Array& other, int64_t row) {
      double sum = 0;
      for (int64_t i = 0; i < 5; ++i) {
        sum += std::pow(std::abs(a[{row, i}] - other[{row, i}] + 1e-6), order);
      }
      return std::pow(sum, 1 / order);
    };
    CheckReductions("triplet_margin_loss", {a, p, n}, {{"margin", 0.75}, {"p", order}},
                    Fill(kF64, {3}, [&](const Index& at) {
                      return std::max(distance(p, at[0]) - distance(n, at[0]) + 0.75, 0.0);
                    }));
  }
}

// The target is a distribution over classes.
TEST(Losses, CrossEntropyOfDistributions) {
  const Array x = Numbers(kF64, {3, 4, 2}), weight = Numbers(kF64, {4}, 0.5, 2, 5);
  Array target = Numbers(kF64, {3, 4, 2}, 0.1, 1, 6);
  for (double smoothing : {0.0, 0.3}) {
    for (bool weighted : {false, true}) {
      const Array losses = Fill(kF64, {3, 2}, [&](const Index& at) {
        double sum = 0, loss = 0;
        for (int64_t c = 0; c < 4; ++c) sum += std::exp(x[{at[0], c, at[1]}]);
        for (int64_t c = 0; c < 4; ++c) {
          const double t = target[{at[0], c, at[1]}] * (1 - smoothing) + smoothing / 4;
          loss -= t * (weighted ? weight[{c}] : 1) * (x[{at[0], c, at[1]}] - std::log(sum));
        }
        return loss;
      });
      Inputs inputs = {x, target};
      if (weighted) inputs.emplace_back(weight);
      CheckReductions("cross_entropy", inputs, {{"label_smoothing", smoothing}}, losses);
    }
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
