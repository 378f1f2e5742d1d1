#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kF16 = DType::kFloat16, kF32 = DType::kFloat32, kF64 = DType::kFloat64;
using Line = std::vector<double>;
const Tolerance kAbsolute = {.ulps = 16, .scale = 1};

double Mean(const Line& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}
double Variance(const Line& v) {
  double sum = 0;
  for (double x : v) sum += (x - Mean(v)) * (x - Mean(v));
  return sum / static_cast<double>(v.size());
}
void Standardize(Line& v, double eps) {
  const double mean = Mean(v), std = std::sqrt(Variance(v) + eps);
  for (double& x : v) x = (x - mean) / std;
}
void SoftmaxOf(Line& v) {
  double sum = 0;
  for (double x : v) sum += std::exp(x);
  for (double& x : v) x = std::exp(x) / sum;
}
void CheckLines(const std::string& function, const std::function<void(Line&)>& f,
                const Attributes& more = {}) {
  for (DType d : kFloats) {
    for (const auto& [shape, axis] : {std::pair<Index, int64_t>{{7}, -1},
                                      {{3, 5}, 0},
                                      {{3, 5}, 1},
                                      {{2, 1, 4}, 1},
                                      {{0, 3}, 1},
                                      {{2, 3, 1, 5}, -3}}) {
      const Array x = Numbers(d, shape, -3, 3);
      Attributes attributes = more;
      attributes.push_back({"axis", axis});
      Check(function, {x}, attributes, Lines(x, d, axis, f), kAbsolute);
    }
  }
}

TEST(Function, softmax) {
  CheckLines("softmax", SoftmaxOf);
  Check("softmax", {Of(kF32, {2}, {1000, 1000})}, {}, Of(kF32, {2}, {0.5, 0.5}));
  EXPECT_THAT(Refusal("softmax", {Zeros(kF32, {2, 3})}, {{"axis", 5}}),
              HasSubstr("node 1 (call softmax), axis: 5 given, there are axes -2 to 1"));
}
TEST(Function, log_softmax) {
  CheckLines("log_softmax", [](Line& v) {
    SoftmaxOf(v);
    for (double& x : v) x = std::log(x);
  });
}
TEST(Function, normalize) {
  CheckLines("normalize", [](Line& v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    for (double& x : v) x /= std::max(std::sqrt(sum), 1e-12);
  });
}
TEST(Function, layer_norm) {
  for (DType d : {kF64, kF32, kF16}) {
    const Array x = Numbers(d, {2, 3, 5}), w = Numbers(d, {5}, -1, 1, 2),
                b = Numbers(d, {5}, -1, 1, 3);
    const Array y = Lines(x, kF64, 2, [](Line& v) { Standardize(v, 1e-5); });
    Check("layer_norm", {x}, {}, Map(y, d, [](double v) { return v; }), kAbsolute);
    const Array scaled = Map2(y, w, kF64, std::multiplies<>());
    Check("layer_norm", {x, w, b}, {}, Map2(scaled, b, d, std::plus<>()), kAbsolute);
    Array flat = Lines(Reshaped(x, {2, 15}), d, 1, [](Line& v) { Standardize(v, 0.1); });
    Check("layer_norm", {x}, {{"last_axes", 2}, {"eps", 0.1}}, Reshaped(flat, {2, 3, 5}),
          kAbsolute);
    EXPECT_THAT(Refusal("layer_norm", {x, Zeros(d, {4})}, {}),
                HasSubstr("weight: its shape is (4), it must be (5)"));
  }
}
TEST(Function, rms_norm) {
  const Array x = Numbers(kF32, {2, 3, 5}), w = Numbers(kF32, {5}, -1, 1, 2);
  const Array y = Lines(x, kF64, 2, [](Line& v) {
    double sum = 0;
    for (double e : v) sum += e * e;
    for (double& e : v) e /= std::sqrt(sum / 5 + 1e-6);
  });
  Check("rms_norm", {x, w}, {}, Map2(y, w, kF32, std::multiplies<>()), kAbsolute);
}
void CheckGroups(const std::string& function, int64_t groups, const Attributes& attributes) {
  const Array x = Numbers(kF32, {2, 6, 3, 2}), w = Numbers(kF32, {6}, -1, 1, 2),
              b = Numbers(kF32, {6}, -1, 1, 3);
  const Array lines =
      Lines(Reshaped(x, {2, groups, 36 / groups}), kF64, 2, [](Line& v) { Standardize(v, 1e-5); });
  const Array scaled =
      Map2(Reshaped(lines, x.shape), Reshaped(w, {6, 1, 1}), kF64, std::multiplies<>());
  Check(function, {x, w, b}, attributes, Map2(scaled, Reshaped(b, {6, 1, 1}), kF32, std::plus<>()),
        kAbsolute);
}
TEST(Function, group_norm) {
  CheckGroups("group_norm", 3, {{"groups", 3}});
  EXPECT_THAT(Refusal("group_norm", {Zeros(kF32, {1, 5})}, {{"groups", 3}}),
              HasSubstr("does not divide the 5"));
}
TEST(Function, instance_norm) { CheckGroups("instance_norm", 6, {}); }
TEST(Function, batch_norm) {
  const Array x = Numbers(kF32, {4, 3, 5});
  const Array m = Numbers(kF32, {3}, -1, 1, 2), v = Numbers(kF32, {3}, 0.5, 2, 3),
              w = Numbers(kF32, {3}, -1, 1, 4), b = Numbers(kF32, {3}, -1, 1, 5);
  const auto run = [&](const Array& mean, const Array& var) {
    return Fill(kF32, x.shape, [&](const Index& at) {
      const Index c = {at[1]};
      return (x[at] - mean[c]) / std::sqrt(var[c] + 1e-5) * w[c] + b[c];
    });
  };
  Check("batch_norm", {x, m, v, w, b}, {}, Arrays{run(m, v), m, v}, kAbsolute);
  const Array mean = Reduced(x, kF64, {0, 2}, false, Mean),
              var = Reduced(x, kF64, {0, 2}, false, Variance);
  const auto moved = [](const Array& old, const Array& now, double factor) {
    return Map2(old, now, kF32,
                [factor](double o, double n) { return 0.9 * o + 0.1 * n * factor; });
  };
  Check("batch_norm", {x, m, v, w, b}, {{"training", true}},
        Arrays{run(mean, var), moved(m, mean, 1), moved(v, var, 20.0 / 19)}, kAbsolute);
}

// ** losses **

using F2 = std::function<double(double, double)>;
void CheckLoss(const std::string& function, const F2& f, double lo, double hi, double target_lo,
               double target_hi, const Attributes& more = {}) {
  for (DType d : {kF64, kF32, kF16}) {
    const Array x = Numbers(d, {3, 5}, lo, hi, 1), t = Numbers(d, {3, 5}, target_lo, target_hi, 2);
    const Array losses = Map2(x, t, kF64, f);
    Attributes attributes = more;
    attributes.push_back({"reduction", "none"});
    Check(function, {x, t}, attributes, Map(losses, d, [](double v) { return v; }), kAbsolute);
    attributes.back() = {"reduction", "mean"};
    Check(function, {x, t}, attributes, Reduced(losses, d, {}, false, Mean), kAbsolute);
    attributes.back() = {"reduction", "sum"};
    Check(function, {x, t}, attributes,
          Reduced(losses, d, {}, false, [](const Line& v) { return 15 * Mean(v); }), kAbsolute);
  }
}
TEST(Function, mse_loss) {
  CheckLoss("mse_loss", [](double x, double t) { return (x - t) * (x - t); }, -2, 2, -2, 2);
}
TEST(Function, l1_loss) {
  CheckLoss("l1_loss", [](double x, double t) { return std::abs(x - t); }, -2, 2, -2, 2);
}
TEST(Function, huber_loss) {
  CheckLoss("huber_loss",
            [](double x, double t) {
              const double d = std::abs(x - t);
              return d < 1.5 ? d * d / 2 : 1.5 * (d - 0.75);
            },
            -2, 2, -2, 2, {{"delta", 1.5}});
}
TEST(Function, smooth_l1_loss) {
  CheckLoss("smooth_l1_loss",
            [](double x, double t) {
              const double d = std::abs(x - t);
              return d < 0.5 ? d * d : d - 0.25;
            },
            -2, 2, -2, 2, {{"beta", 0.5}});
}
TEST(Function, bce_loss) {
  CheckLoss(
      "bce_loss", [](double x, double t) { return -(t * std::log(x) + (1 - t) * std::log1p(-x)); },
      0.1, 0.9, 0, 1);
  Check("bce_loss", {Of(kF32, {2}, {0, 1}), Of(kF32, {2}, {1, 1})}, {{"reduction", "none"}},
        Of(kF32, {2}, {100, 0}));
}
TEST(Function, bce_with_logits_loss) {
  CheckLoss(
      "bce_with_logits_loss",
      [](double x, double t) {
        const double p = 1 / (1 + std::exp(-x));
        return -(t * std::log(p) + (1 - t) * std::log1p(-p));
      },
      -3, 3, 0, 1);
  Check("bce_with_logits_loss", {Of(kF32, {2}, {-1000, 1000}), Of(kF32, {2}, {1, 1})},
        {{"reduction", "none"}}, Of(kF32, {2}, {1000, 0}));
}
TEST(Function, kl_div) {
  CheckLoss(
      "kl_div", [](double x, double t) { return t > 0 ? t * (std::log(t) - x) : 0; }, -3, 0, 0, 1);
  CheckLoss("kl_div", [](double x, double t) { return std::exp(t) * (t - x); }, -3, 0, -3, 0,
            {{"log_target", true}});
}
TEST(Function, cosine_similarity) {
  const Array x = Numbers(kF32, {3, 5}, -1, 1, 1), y = Numbers(kF32, {5}, -1, 1, 2);
  Check("cosine_similarity", {x, y}, {},
        Fill(kF32, {3},
             [&](const Index& at) {
               double xy = 0, xx = 0, yy = 0;
               for (int64_t i = 0; i < 5; ++i) {
                 const double p = x[{at[0], i}], q = y[{i}];
                 xy += p * q, xx += p * p, yy += q * q;
               }
               return xy / std::sqrt(xx * yy);
             }),
        kAbsolute);
}

// Of log probabilities [n, c, k].
void CheckClasses(const std::string& function, bool is_logits, double smoothing) {
  const Array x = Numbers(kF32, {3, 4, 2}), weight = Numbers(kF32, {4}, 0.5, 2, 5);
  const Array target = Of(DType::kInt32, {3, 2}, {0, 3, 1, -100, 2, 2});
  Array p = x;
  if (is_logits) {
    p = Lines(x, kF64, 1, [](Line& v) {
      SoftmaxOf(v);
      for (double& e : v) e = std::log(e);
    });
  }
  for (bool weighted : {false, true}) {
    double total = 0, share = 0;
    const auto w = [&](int64_t c) { return weighted ? weight[{c}] : 1.0; };
    const Array losses = Fill(kF32, {3, 2}, [&](const Index& at) {
      const auto t = static_cast<int64_t>(target[at]);
      if (t == -100) return 0.0;
      double loss = -(1 - smoothing) * w(t) * p[{at[0], t, at[1]}];
      for (int64_t c = 0; c < 4; ++c) loss -= smoothing / 4 * w(c) * p[{at[0], c, at[1]}];
      total += loss;
      share += w(t);
      return loss;
    });
    Inputs inputs = {x, target};
    if (weighted) inputs.emplace_back(weight);
    Attributes attributes = {{"reduction", "none"}};
    if (is_logits) attributes.push_back({"label_smoothing", smoothing});
    Check(function, inputs, attributes, losses, kAbsolute);
    attributes[0] = {"reduction", "sum"};
    Check(function, inputs, attributes, Of(kF32, {}, {total}), kAbsolute);
    attributes[0] = {"reduction", "mean"};
    Check(function, inputs, attributes, Of(kF32, {}, {total / share}), kAbsolute);
  }
}
TEST(Function, cross_entropy) {
  CheckClasses("cross_entropy", true, 0);
  CheckClasses("cross_entropy", true, 0.2);
  const Array x = Numbers(kF32, {3});
  Array p = x;
  SoftmaxOf(p.v);
  Check("cross_entropy", {x, Of(DType::kInt64, {}, {1})}, {}, Of(kF32, {}, {-std::log(p.v[1])}),
        kAbsolute);
  EXPECT_THAT(Refusal("cross_entropy", {Zeros(kF32, {3, 4}), Zeros(DType::kInt32, {4})}, {}),
              HasSubstr("target: its shape is (4), it must be (3)"));
  EXPECT_THAT(Refusal("cross_entropy", {Zeros(kF32, {3, 4}), Zeros(kF32, {3})}, {}),
              HasSubstr("target: its shape is (3), it must be (3, 4)"));
  EXPECT_THAT(Refusal("nll_loss", {Zeros(kF32, {3, 4}), Zeros(kF32, {3})}, {}),
              HasSubstr("target: its dtype is float32, it must be an integer"));
}
TEST(Function, nll_loss) { CheckClasses("nll_loss", false, 0); }
TEST(Function, softmin) {
  CheckLines("softmin", [](Line& v) {
    for (double& x : v) x = -x;
    SoftmaxOf(v);
  });
}
TEST(Function, local_response_norm) {
  const Array x = Numbers(kF32, {2, 6, 3});
  for (int64_t size : {1, 2, 3, 5}) {
    const Array y = Fill(kF32, x.shape, [&](const Index& at) {
      double sum = 0;
      for (int64_t c = at[1] - size / 2; c <= at[1] + (size - 1) / 2; ++c) {
        if (c >= 0 && c < 6) sum += std::pow(x[{at[0], c, at[2]}], 2);
      }
      return x[at] / std::pow(2 + 0.5 / static_cast<double>(size) * sum, 0.6);
    });
    Check("local_response_norm", {x}, {{"size", size}, {"alpha", 0.5}, {"beta", 0.6}, {"k", 2}}, y,
          kAbsolute);
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
