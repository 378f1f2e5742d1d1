#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kF16 = DType::kFloat16, kF32 = DType::kFloat32, kBool = DType::kBool;
const Tolerance kAbsolute = {.ulps = 32, .scale = 1};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct AttentionCase {
  int64_t heads = 2, kv_heads = 2, queries = 3, keys = 5;
  bool causal = false;
  int mask = 0;  // 0: none, 1: bool, 2: added.
  double softcap = 0;
  std::optional<double> scale;
};
void CheckAttention(DType d, const AttentionCase& c) {
  const Array q = Numbers(d, {2, c.heads, c.queries, 4}, -1, 1, 1),
              k = Numbers(d, {2, c.kv_heads, c.keys, 4}, -1, 1, 2),
              v = Numbers(d, {2, c.kv_heads, c.keys, 6}, -1, 1, 3);
  Array mask = Numbers(c.mask == 1 ? kBool : kF32, {c.queries, c.keys}, 0, 1, 4);
  for (int64_t i = 0; c.mask == 1 && i < c.queries; ++i) mask[{i, 0}] = 1;  // Something is seen.
  const Array y = Fill(d, {2, c.heads, c.queries, 6}, [&](const Index& at) {
    const int64_t head = at[1] / (c.heads / c.kv_heads);
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      double score = 0;
      for (int64_t i = 0; i < 4; ++i) score += q[{at[0], at[1], at[2], i}] * k[{at[0], head, j, i}];
      score *= c.scale.value_or(0.5);
      if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
      if (c.causal && j > at[2] + c.keys - c.queries) continue;
      if (c.mask == 1 && mask[{at[2], j}] == 0) continue;
      if (c.mask == 2) score += mask[{at[2], j}];
      sum += std::exp(score);
      weighted += std::exp(score) * v[{at[0], head, j, at[3]}];
    }
    return weighted / sum;
  });
  Inputs inputs = {q, k, v};
  if (c.mask > 0) inputs.emplace_back(mask);
  Attributes attributes = {{"causal", c.causal}, {"softcap", c.softcap}};
  if (c.scale.has_value()) attributes.push_back({"scale", *c.scale});
  Check("attention", inputs, attributes, y, kAbsolute);
}
TEST(Function, attention) {
  for (DType d : {DType::kFloat64, kF32, kF16}) {
    CheckAttention(d, {});
    CheckAttention(d, {.causal = true});
    CheckAttention(d, {.heads = 6, .kv_heads = 2, .mask = 1});
    CheckAttention(d, {.heads = 2,
                       .kv_heads = 1,
                       .queries = 4,
                       .keys = 4,
                       .causal = true,
                       .mask = 2,
                       .softcap = 2,
                       .scale = 1.5});
  }
  const Array q = Zeros(kF32, {3, 2, 4}), k = Zeros(kF32, {2, 5, 4});
  EXPECT_THAT(Refusal("attention", {q, k, k}, {}),
              HasSubstr("k: it has 2 heads, which do not divide the 3 of q"));
  EXPECT_THAT(Refusal("attention", {q, Zeros(kF32, {3, 5, 3}), k}, {}),
              HasSubstr("does not fit q"));
}
TEST(Function, rope) {
  const Array x = Numbers(kF32, {2, 3, 6}), p = Of(DType::kInt32, {3}, {4, 0, 9});
  for (bool halves : {true, false}) {
    for (bool given : {true, false}) {
      const Array y = Fill(kF32, x.shape, [&](const Index& at) {
        const int64_t i = halves ? at[2] % 3 : at[2] / 2;
        const bool second = halves ? at[2] >= 3 : at[2] % 2 == 1;
        const double position = given ? p[{at[1]}] : static_cast<double>(at[1]);
        const double angle = position * std::pow(10000, -static_cast<double>(i) / 3);
        const double a = x[{at[0], at[1], halves ? i : 2 * i}],
                     b = x[{at[0], at[1], halves ? i + 3 : 2 * i + 1}];
        return second ? b * std::cos(angle) + a * std::sin(angle)
                      : a * std::cos(angle) - b * std::sin(angle);
      });
      Inputs inputs = {x};
      if (given) inputs.emplace_back(p);
      Check("rope", inputs, {{"layout", halves ? "halves" : "pairs"}}, y, kAbsolute);
    }
  }
  EXPECT_THAT(Refusal("rope", {Zeros(kF32, {2, 3})}, {}), HasSubstr("x: its last size, 3, is odd"));
}

// weight x + bias, of row `r` and gate unit `i`.
double Product(const Array& x, const Array& w, const std::optional<Array>& b, int64_t r,
               int64_t i) {
  double sum = b.has_value() ? (*b)[{i}] : 0;
  for (int64_t k = 0; k < x.shape[1]; ++k) sum += x[{r, k}] * w[{i, k}];
  return sum;
}
TEST(Function, lstm_cell) {
  const Array x = Numbers(kF32, {2, 3}, -1, 1, 1), h = Numbers(kF32, {2, 4}, -1, 1, 2),
              c = Numbers(kF32, {2, 4}, -1, 1, 3), wx = Numbers(kF32, {16, 3}, -1, 1, 4),
              wh = Numbers(kF32, {16, 4}, -1, 1, 5), b = Numbers(kF32, {16}, -1, 1, 6);
  const auto gate = [&](const Index& at, int64_t g) {
    return Product(x, wx, b, at[0], g * 4 + at[1]) +
           Product(h, wh, std::nullopt, at[0], g * 4 + at[1]);
  };
  const Array next = Fill(kF32, {2, 4}, [&](const Index& at) {
    return Sigmoid(gate(at, 1)) * c[at] + Sigmoid(gate(at, 0)) * std::tanh(gate(at, 2));
  });
  const Array y = Fill(kF32, {2, 4},
                       [&](const Index& at) { return Sigmoid(gate(at, 3)) * std::tanh(next[at]); });
  Check("lstm_cell", {x, h, c, wx, wh, b}, {}, Arrays{y, next}, kAbsolute);
  EXPECT_THAT(Refusal("lstm_cell", {x, h, c, wh, wh}, {}),
              HasSubstr("weight_x: its shape is (16, 4), it must be (16, 3)"));
  EXPECT_THAT(Refusal("lstm_cell", {x, h, c}, {}), HasSubstr("weight_x: it is missing"));
}
TEST(Function, gru_cell) {
  const Array x = Numbers(kF32, {2, 3}, -1, 1, 1), h = Numbers(kF32, {2, 4}, -1, 1, 2),
              wx = Numbers(kF32, {12, 3}, -1, 1, 4), wh = Numbers(kF32, {12, 4}, -1, 1, 5),
              bh = Numbers(kF32, {12}, -1, 1, 6);
  const Array y = Fill(kF32, {2, 4}, [&](const Index& at) {
    const auto of_x = [&](int64_t g) { return Product(x, wx, std::nullopt, at[0], g * 4 + at[1]); };
    const auto of_h = [&](int64_t g) { return Product(h, wh, bh, at[0], g * 4 + at[1]); };
    const double r = Sigmoid(of_x(0) + of_h(0)), z = Sigmoid(of_x(1) + of_h(1)),
                 n = std::tanh(of_x(2) + r * of_h(2));
    return (1 - z) * n + z * h[at];
  });
  Check("gru_cell", {x, h, wx, wh, std::nullopt, bh}, {}, y, kAbsolute);
}

TEST(Function, rnn_cell) {
  const Array x = Numbers(kF32, {2, 3}, -1, 1, 1), h = Numbers(kF32, {2, 4}, -1, 1, 2),
              wx = Numbers(kF32, {4, 3}, -1, 1, 4), wh = Numbers(kF32, {4, 4}, -1, 1, 5),
              bx = Numbers(kF32, {4}, -1, 1, 6);
  for (bool relu : {false, true}) {
    const Array y = Fill(kF32, {2, 4}, [&](const Index& at) {
      const double sum =
          Product(x, wx, bx, at[0], at[1]) + Product(h, wh, std::nullopt, at[0], at[1]);
      return relu ? std::max(sum, 0.0) : std::tanh(sum);
    });
    Check("rnn_cell", {x, h, wx, wh, bx}, {{"activation", relu ? "relu" : "tanh"}}, y, kAbsolute);
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
