// Steps of optimisers.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kF32 = DType::kFloat32;
const Tolerance kAbsolute = {.ulps = 16, .scale = 1};

struct Step {
  Array p = Numbers(kF32, {3, 4}, -1, 1, 1), g = Numbers(kF32, {3, 4}, -1, 1, 2),
        m = Numbers(kF32, {3, 4}, -1, 1, 3), v = Numbers(kF32, {3, 4}, 0.1, 1, 4),
        rate = Of(kF32, {}, {0.1}), step = Of(DType::kInt32, {}, {3});
  size_t size() const { return p.v.size(); }
};
TEST(Function, sgd) {
  const Step s;
  Array p = s.p, v = s.m;
  for (size_t i = 0; i < s.size(); ++i) p.v[i] -= s.rate.v[0] * s.g.v[i];
  Check("sgd", {s.p, s.g, s.rate}, {}, p, kAbsolute);
  for (bool nesterov : {false, true}) {
    for (size_t i = 0; i < s.size(); ++i) {
      const double g = s.g.v[i] + 0.01 * s.p.v[i];
      v.v[i] = 0.9 * s.m.v[i] + g;
      p.v[i] = s.p.v[i] - s.rate.v[0] * (nesterov ? g + 0.9 * v.v[i] : v.v[i]);
    }
    Check("sgd", {s.p, s.g, s.rate, s.m},
          {{"momentum", 0.9}, {"weight_decay", 0.01}, {"nesterov", nesterov}}, Arrays{p, v},
          kAbsolute);
  }
  EXPECT_THAT(Refusal("sgd", {s.p, s.g, s.rate}, {{"momentum", 0.9}}),
              HasSubstr("velocity: it is missing"));
  EXPECT_THAT(Refusal("sgd", {s.p, s.g, s.p}, {}),
              HasSubstr("rate: its shape (3, 4) has 2 axes, it needs 0 axes"));
}
// What Adam would take off the parameter at a rate of 1, and the moments.
void Moments(const Step& s, double decay, double eps, Array& d, Array& m, Array& v) {
  for (size_t i = 0; i < s.size(); ++i) {
    const double g = s.g.v[i] + decay * s.p.v[i];
    m.v[i] = 0.9 * s.m.v[i] + 0.1 * g;
    v.v[i] = 0.999 * s.v.v[i] + 0.001 * g * g;
    d.v[i] = m.v[i] / (1 - std::pow(0.9, 3)) / (std::sqrt(v.v[i] / (1 - std::pow(0.999, 3))) + eps);
  }
}
const Tolerance kStep = {.ulps = 1024, .scale = 1};  // 1 - 0.999^3 cancels.
TEST(Function, adam) {
  const Step s;
  Array p = s.p, d = s.p, m = s.m, v = s.v;
  Moments(s, 0.01, 1e-8, d, m, v);
  for (size_t i = 0; i < s.size(); ++i) p.v[i] -= s.rate.v[0] * d.v[i];
  Check("adam", {s.p, s.g, s.rate, s.m, s.v, s.step}, {{"weight_decay", 0.01}}, Arrays{p, m, v},
        kStep);
}
TEST(Function, adamw) {
  const Step s;
  Array p = s.p, d = s.p, m = s.m, v = s.v;
  Moments(s, 0, 1e-8, d, m, v);
  for (size_t i = 0; i < s.size(); ++i) p.v[i] -= s.rate.v[0] * (d.v[i] + 0.01 * s.p.v[i]);
  Check("adamw", {s.p, s.g, s.rate, s.m, s.v, s.step}, {}, Arrays{p, m, v}, kStep);
}
TEST(Function, lamb) {
  const Step s;
  Array p = s.p, d = s.p, m = s.m, v = s.v;
  Moments(s, 0, 1e-6, d, m, v);
  double size = 0, length = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    d.v[i] += 0.1 * s.p.v[i];
    size += s.p.v[i] * s.p.v[i];
    length += d.v[i] * d.v[i];
  }
  for (size_t i = 0; i < s.size(); ++i) p.v[i] -= s.rate.v[0] * std::sqrt(size / length) * d.v[i];
  Check("lamb", {s.p, s.g, s.rate, s.m, s.v, s.step}, {{"weight_decay", 0.1}}, Arrays{p, m, v},
        kStep);
}
TEST(Function, rmsprop) {
  const Step s;
  Array p = s.p, v = s.v;
  for (size_t i = 0; i < s.size(); ++i) {
    v.v[i] = 0.99 * s.v.v[i] + 0.01 * s.g.v[i] * s.g.v[i];
    p.v[i] -= s.rate.v[0] * s.g.v[i] / (std::sqrt(v.v[i]) + 1e-8);
  }
  Check("rmsprop", {s.p, s.g, s.rate, s.v}, {}, Arrays{p, v}, kAbsolute);
}
TEST(Function, clip_by_norm) {
  const Array a = Numbers(kF32, {3}, -1, 1, 1), b = Numbers(kF32, {2, 2}, -1, 1, 2);
  double sum = 0;
  for (double v : a.v) sum += v * v;
  for (double v : b.v) sum += v * v;
  const auto by = [](const Array& x, double factor) {
    return Map(x, [factor](double v) { return v * factor; });
  };
  const double factor = 0.5 / (std::sqrt(sum) + 1e-6);
  Check("clip_by_norm", {Of(kF32, {}, {0.5}), a, b}, {}, Arrays{by(a, factor), by(b, factor)},
        kAbsolute);
  Check("clip_by_norm", {Of(kF32, {}, {100}), a, b}, {}, Arrays{a, b});
}

TEST(Function, adagrad) {
  const Step s;
  Array p = s.p, sum = s.v;
  for (size_t i = 0; i < s.size(); ++i) {
    const double g = s.g.v[i] + 0.01 * s.p.v[i];
    sum.v[i] += g * g;
    p.v[i] -= s.rate.v[0] * g / (std::sqrt(sum.v[i]) + 1e-10);
  }
  Check("adagrad", {s.p, s.g, s.rate, s.v}, {{"weight_decay", 0.01}}, Arrays{p, sum}, kAbsolute);
}
TEST(Function, lion) {
  const Step s;
  Array p = s.p, m = s.m;
  for (size_t i = 0; i < s.size(); ++i) {
    const double u = 0.9 * s.m.v[i] + 0.1 * s.g.v[i];
    p.v[i] -= s.rate.v[0] * ((u > 0) - (u < 0) + 0.05 * s.p.v[i]);
    m.v[i] = 0.99 * s.m.v[i] + 0.01 * s.g.v[i];
  }
  Check("lion", {s.p, s.g, s.rate, s.m}, {{"weight_decay", 0.05}}, Arrays{p, m}, kAbsolute);
}

}  // namespace
}  // namespace kiln::tensor::functions
