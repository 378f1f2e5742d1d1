#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI32 = DType::kInt32,
                kI64 = DType::kInt64, kU32 = DType::kUInt32;

TEST(Function, full) {
  Check("full", {}, {{"shape", Index{2, 3}}, {"value", 1.5}},
        Fill(kF32, {2, 3}, [](const Index&) { return 1.5; }));
  Check("full", {}, {{"shape", Index{}}, {"value", 7}, {"dtype", kI32}}, Of(kI32, {}, {7}));
  EXPECT_THAT(Refusal("full", {}, {{"shape", Index{-1}}, {"value", 0}}),
              HasSubstr("shape: -1 given, it must be at least 0"));
  EXPECT_THAT(Refusal("full", {}, {{"value", 0}}), HasSubstr("shape: it is missing"));
}
TEST(Function, full_like) {
  Check("full_like", {Zeros(kI32, {2, 0})}, {{"value", 1}}, Zeros(kI32, {2, 0}));
  Check("full_like", {Zeros(kI32, {2})}, {{"value", 1.5}, {"dtype", kF64}},
        Of(kF64, {2}, {1.5, 1.5}));
}
TEST(Function, arange) {
  Check("arange", {}, {{"stop", 4}}, Of(kI64, {4}, {0, 1, 2, 3}));
  Check("arange", {}, {{"stop", 10}, {"start", 1}, {"step", 3}, {"dtype", kI32}},
        Of(kI32, {3}, {1, 4, 7}));
  Check("arange", {}, {{"stop", -1}, {"start", 3}, {"step", -2}}, Of(kI64, {2}, {3, 1}));
  Check("arange", {}, {{"stop", 1}, {"step", 0.25}}, Of(kF32, {4}, {0, 0.25, 0.5, 0.75}));
  Check("arange", {}, {{"stop", -5}}, Zeros(kI64, {0}));
  EXPECT_THAT(Refusal("arange", {}, {{"stop", 5}, {"step", 0}}), HasSubstr("step: 0 given"));
}
TEST(Function, linspace) {
  Check("linspace", {}, {{"start", -1}, {"stop", 2}, {"count", 7}},
        Fill(kF32, {7}, [](const Index& at) { return -1 + 0.5 * static_cast<double>(at[0]); }));
  Check("linspace", {}, {{"start", 3}, {"stop", 9}, {"count", 1}, {"dtype", kF64}},
        Of(kF64, {1}, {3}));
}
TEST(Function, eye) {
  Check("eye", {}, {{"rows", 3}},
        Fill(kF32, {3, 3}, [](const Index& at) { return at[0] == at[1]; }));
  Check("eye", {}, {{"rows", 2}, {"columns", 4}, {"offset", 1}, {"dtype", kI32}},
        Fill(kI32, {2, 4}, [](const Index& at) { return at[0] + 1 == at[1]; }));
}
TEST(Function, iota) {
  Check("iota", {}, {{"shape", Index{2, 3}}, {"axis", 0}},
        Fill(kI64, {2, 3}, [](const Index& at) { return static_cast<double>(at[0]); }));
  Check("iota", {}, {{"shape", Index{2, 3}}, {"dtype", kF32}},
        Fill(kF32, {2, 3}, [](const Index& at) { return static_cast<double>(at[1]); }));
}
TEST(Function, logspace) {
  Check("logspace", {}, {{"start", -1}, {"stop", 2}, {"count", 7}},
        Fill(kF32, {7},
             [](const Index& at) { return std::pow(10, -1 + 0.5 * static_cast<double>(at[0])); }));
  Check("logspace", {}, {{"start", 0}, {"stop", 3}, {"count", 4}, {"base", 2}, {"dtype", kF64}},
        Of(kF64, {4}, {1, 2, 4, 8}));
}
void CheckTriangle(const std::string& function, bool upper) {
  for (int64_t offset : {-2, 0, 1, 9}) {
    std::vector<double> places;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 4; ++c) {
        if (upper ? c >= r + offset : c <= r + offset) {
          places.push_back(static_cast<double>(r));
          places.push_back(static_cast<double>(c));
        }
      }
    }
    const auto count = static_cast<int64_t>(places.size() / 2);
    Check(function, {}, {{"rows", 3}, {"columns", 4}, {"offset", offset}},
          Of(kI64, {count, 2}, places));
  }
}
TEST(Function, tril_indices) { CheckTriangle("tril_indices", false); }
TEST(Function, triu_indices) { CheckTriangle("triu_indices", true); }

// ** random numbers **

constexpr uint32_t kKey[2] = {0x14b81119, 0x539};  // That of the `random` fixtures.

// Source: Salmon et al., SC 2011: Threefry-2x32-20.
std::pair<uint32_t, uint32_t> Threefry(uint32_t x, uint32_t y) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {kKey[0], kKey[1], kKey[0] ^ kKey[1] ^ 0x1bd11bda};
  x += keys[0];
  y += keys[1];
  for (uint32_t i = 0; i < 5; ++i) {
    for (int r : kRotations[i % 2]) {
      x += y;
      y = std::rotl(y, r) ^ x;
    }
    x += keys[(i + 1) % 3];
    y += keys[(i + 2) % 3] + i + 1;
  }
  return {x, y};
}
std::vector<uint32_t> Words(size_t n, uint32_t counter) {
  std::vector<uint32_t> low, high;
  const auto half = static_cast<uint32_t>((n + 1) / 2);
  for (uint32_t i = 0; i < half; ++i) {
    const auto [x, y] = Threefry(counter + i, counter + i + half);
    low.push_back(x);
    high.push_back(y);
  }
  low.insert(low.end(), high.begin(), high.end());
  low.resize(n);
  return low;
}
std::vector<double> Uniform(size_t n, uint32_t counter) {
  std::vector<double> v;
  for (uint32_t w : Words(n, counter)) v.push_back(static_cast<double>(w >> 9) / (1 << 23));
  return v;
}
const Array kKeys = Of(kU32, {2}, {kKey[0], kKey[1]});
Array Counter(double n) { return Of(kU32, {1}, {n}); }

TEST(Function, uniform) {
  const std::vector<double> u = Uniform(15, 460);
  const Attributes shape = {{"shape", Index{3, 5}}};
  Check("uniform", {kKeys, Counter(460)}, shape, Arrays{Of(kF32, {3, 5}, u), Counter(475)});
  // The first numbers of a record of the fixtures.
  const auto record = Called("uniform", {kKeys, Counter(460)}, {{"shape", Index{20, 23}}});
  KILN_ASSERT_OK(record);
  EXPECT_EQ((*record)[0].v[0], 0.6484140157699585);
  EXPECT_EQ((*record)[0].v[2], 0.26593518257141113);
  EXPECT_EQ((*record)[0].v[459], 0.89383864402771);
  Array scaled = Of(kF32, {15}, u);
  for (double& x : scaled.v) x = x * 5 - 2;
  Check("uniform", {kKeys, Of(kU32, {}, {460})}, {{"shape", 15}, {"low", -2}, {"high", 3}},
        Arrays{scaled, Of(kU32, {}, {475})}, {.scale = 4});
  // Two halves in a word, two words in a double.
  std::vector<double> halves, doubles;
  for (uint32_t w : Words(2, 0)) {
    for (uint32_t part : {w & 0xffff, w >> 16})
      halves.push_back(static_cast<double>(part >> 6) / 1024);
  }
  halves.resize(3);
  Check("uniform", {kKeys, Counter(0)}, {{"shape", 3}, {"dtype", DType::kFloat16}},
        Arrays{Of(DType::kFloat16, {3}, halves), Counter(2)});
  const std::vector<uint32_t> w = Words(4, 0);
  for (size_t i : {0, 2})
    doubles.push_back(
        std::ldexp(static_cast<double>(((uint64_t{w[i + 1]} << 32) | w[i]) >> 12), -52));
  Check("uniform", {kKeys, Counter(0)}, {{"shape", 2}, {"dtype", kF64}},
        Arrays{Of(kF64, {2}, doubles), Counter(4)});
  Check("uniform", {kKeys, Counter(7)}, {{"shape", 0}}, Arrays{Zeros(kF32, {0}), Counter(7)});
  EXPECT_THAT(Refusal("uniform", {Zeros(kU32, {3}), Counter(0)}, shape),
              HasSubstr("key: its shape is (3), it must be (2)"));
}
TEST(Function, normal) {
  const std::vector<double> u = Uniform(20, 8);
  const auto value = [&u](size_t i) {
    return std::cos(2 * std::numbers::pi * u[i]) * std::sqrt(-2 * std::log1p(-u[i + 10]));
  };
  const Tolerance tolerance = {.ulps = 32, .scale = 1};
  Check("normal", {kKeys, Counter(8)}, {{"shape", Index{2, 5}}},
        Arrays{Fill(kF32, {2, 5},
                    [&](const Index& at) { return value(static_cast<size_t>(at[0] * 5 + at[1])); }),
               Counter(28)},
        tolerance);
  Check("normal", {kKeys, Counter(8)}, {{"shape", 10}, {"mean", 3}, {"std", 2}},
        Arrays{Fill(kF32, {10},
                    [&](const Index& at) { return value(static_cast<size_t>(at[0])) * 2 + 3; }),
               Counter(28)},
        {.ulps = 64, .scale = 4});
  // The first number of a record of the fixtures.
  const auto record = Called("normal", {kKeys, Counter(920)}, {{"shape", Index{20, 23}}});
  KILN_ASSERT_OK(record);
  EXPECT_NEAR((*record)[0].v[0], 0.6843623518943787, 1e-6);
  EXPECT_NEAR((*record)[0].v[459], 0.06239853799343109, 1e-6);
}
TEST(Function, randint) {
  Array y = Of(kI32, {460}, Uniform(460, 0));
  for (double& x : y.v) x = std::floor(static_cast<double>(static_cast<float>(x * 10)));
  EXPECT_EQ(y.v[1], 9);  // As in a record of the fixtures: 4, 9, 4, 5, 7.
  Check("randint", {kKeys, Counter(0)}, {{"shape", 460}, {"low", 0}, {"high", 10}},
        Arrays{y, Counter(460)});
  for (double& x : y.v) x -= 5;
  Check("randint", {kKeys, Counter(0)}, {{"shape", 460}, {"low", -5}, {"high", 5}},
        Arrays{y, Counter(460)});
  EXPECT_THAT(Refusal("randint", {kKeys, Counter(0)}, {{"shape", 3}, {"low", 4}, {"high", 4}}),
              HasSubstr("high: 4 given, it must be above low, 4"));
}
TEST(Function, bernoulli) {
  const Array p = Numbers(kF32, {3, 5}, 0, 1);
  Array y = Of(kF32, {3, 5}, Uniform(15, 3));
  for (size_t i = 0; i < y.v.size(); ++i) y.v[i] = y.v[i] < p.v[i];
  Check("bernoulli", {kKeys, Counter(3), p}, {}, Arrays{y, Counter(18)});
}
TEST(Function, dropout) {
  const Array x = Numbers(kF32, {3, 5});
  const std::vector<double> u = Uniform(15, 3);
  Array y = x;
  for (size_t i = 0; i < y.v.size(); ++i) y.v[i] = u[i] < 0.25 ? 0 : x.v[i] / 0.75;
  Check("dropout", {kKeys, Counter(3), x}, {{"p", 0.25}}, Arrays{y, Counter(18)});
  Check("dropout", {kKeys, Counter(3), x}, {{"p", 0}}, Arrays{x, Counter(3)});
  Check("dropout", {kKeys, Counter(3), x}, {{"p", 1}}, Arrays{Zeros(kF32, {3, 5}), Counter(18)});
  EXPECT_THAT(Refusal("dropout", {kKeys, Counter(3), x}, {{"p", 1.5}}),
              HasSubstr("p: 1.5 given, it must be between 0 and 1"));
}
TEST(Function, permutation) {
  const std::vector<double> u = Uniform(9, 0);
  Array y = Fill(kI64, {9}, [](const Index& at) { return static_cast<double>(at[0]); });
  std::stable_sort(y.v.begin(), y.v.end(), [&u](double a, double b) {
    return u[static_cast<size_t>(a)] < u[static_cast<size_t>(b)];
  });
  Check("permutation", {kKeys, Counter(0)}, {{"n", 9}}, Arrays{y, Counter(9)});
}
TEST(Function, multinomial) {
  const Array weights = Of(kF32, {2}, {0.2, 0.8});
  Array y = Of(kI32, {300}, Uniform(300, 0));
  for (double& x : y.v) x = x >= static_cast<double>(0.2F);
  EXPECT_THAT(std::vector<double>(y.v.begin(), y.v.begin() + 5),
              testing::ElementsAre(1, 1, 1, 0, 1));  // As in the fixtures.
  Check("multinomial", {kKeys, Counter(0), weights}, {{"count", 300}}, Arrays{y, Counter(300)});
  const Array rows = Of(kF32, {2, 3}, {0, 1, 0, 1, 0, 0});
  Check("multinomial", {kKeys, Counter(0), rows}, {{"count", 2}},
        Arrays{Of(kI32, {2, 2}, {1, 1, 0, 0}), Counter(4)});
}

// ** more distributions **
TEST(Function, exponential) {
  const std::vector<double> u = Uniform(10, 5);
  Array y = Of(kF32, {2, 5}, u);
  for (double& v : y.v) v = -std::log1p(-v) / 2;
  Check("exponential", {kKeys, Counter(5)}, {{"shape", Index{2, 5}}, {"rate", 2}},
        Arrays{y, Counter(15)}, {.ulps = 32, .scale = 1});
}
TEST(Function, gumbel) {
  Array y = Of(kF32, {7}, Uniform(7, 5));
  for (double& v : y.v) v = -std::log(-std::log(v + 0x1p-24));
  Check("gumbel", {kKeys, Counter(5)}, {{"shape", 7}}, Arrays{y, Counter(12)},
        {.ulps = 32, .scale = 1});
}
TEST(Function, random_bits) {
  const std::vector<uint32_t> w = Words(7, 3);
  Check("random_bits", {kKeys, Counter(3)}, {{"shape", 7}},
        Arrays{Of(kU32, {7}, {w.begin(), w.end()}), Counter(10)});
  Check("random_bits", {kKeys, Counter(3)}, {{"shape", Index{2, 0}}},
        Arrays{Zeros(kU32, {2, 0}), Counter(3)});
}
TEST(Function, split_key) {
  const std::vector<uint32_t> w = Words(6, 9);
  Check("split_key", {kKeys, Counter(9)}, {{"count", 3}},
        Arrays{Of(kU32, {3, 2}, {w.begin(), w.end()}), Counter(15)});
}

// What is drawn without replacement: the least of waiting times.
TEST(Random, MultinomialWithoutReplacement) {
  const Array weights = Of(kF32, {2, 4}, {1, 0, 2, 3, 0.5, 0.25, 0, 4});
  const std::vector<double> u = Uniform(8, 0);
  const Array y = Fill(kI32, {2, 3}, [&](const Index& at) {
    std::vector<std::pair<double, int>> waits;
    for (int i = 0; i < 4; ++i) {
      const auto k = static_cast<size_t>(at[0] * 4 + i);
      waits.emplace_back(-std::log(u[k] + 0x1p-24) / weights.v[k], i);
    }
    std::sort(waits.begin(), waits.end());
    return waits[static_cast<size_t>(at[1])].second;
  });
  for (double v : y.v) EXPECT_TRUE(v >= 0 && v < 4);
  Check("multinomial", {kKeys, Counter(0), weights}, {{"count", 3}, {"replacement", false}},
        Arrays{y, Counter(8)});
  EXPECT_THAT(
      Refusal("multinomial", {kKeys, Counter(0), weights}, {{"count", 5}, {"replacement", false}}),
      HasSubstr("count: 5 given, there are 4 to draw"));
}
TEST(Random, DropoutOfWholeChannels) {
  const Array x = Numbers(kF32, {3, 5});
  const std::vector<double> u = Uniform(3, 3);
  const Array y = Fill(kF32, {3, 5}, [&](const Index& at) {
    return u[static_cast<size_t>(at[0])] < 0.5 ? 0 : x[at] * 2;
  });
  Check("dropout", {kKeys, Counter(3), x}, {{"shared_axes", -1}}, Arrays{y, Counter(6)});
}
// A permutation of many is one.
TEST(Random, LongPermutations) {
  const auto y = Called("permutation", {kKeys, Counter(0)}, {{"n", 3000}});
  KILN_ASSERT_OK(y);
  std::vector<double> v = (*y)[0].v;
  EXPECT_FALSE(std::is_sorted(v.begin(), v.end()));
  std::sort(v.begin(), v.end());
  for (size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], static_cast<double>(i));
}

}  // namespace
}  // namespace kiln::tensor::functions
