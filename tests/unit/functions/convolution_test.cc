#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI32 = DType::kInt32;
const Tolerance kSum = {.ulps = 16, .scale = 32};

struct Setting {
  Index spatial, kernel;
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;

  int64_t Places(size_t i) const {
    return (spatial[i] + 2 * padding - dilation * (kernel[i] - 1) - 1) / stride + 1;
  }
  Index Out(Index shape) const {
    for (size_t i = 0; i < spatial.size(); ++i) shape.push_back(Places(i));
    return shape;
  }
  Attributes Common() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}};
  }
  // `f` with the place in x (from axis 2 on) of each element of the window of `at`; nullopt: padding.
  void ForWindow(const Index& at,
                 const std::function<void(const Index&, const std::optional<Index>&)>& f) const {
    ForEach(kernel, [&](const Index& k) {
      Index in;
      bool inside = true;
      for (size_t i = 0; i < k.size(); ++i) {
        in.push_back(at[i + 2] * stride + k[i] * dilation - padding);
        inside = inside && in.back() >= 0 && in.back() < spatial[i];
      }
      f(k, inside ? std::optional(in) : std::nullopt);
    });
  }
};
Index Join(Index a, const Index& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
const Setting kSettings[] = {{{7}, {3}},
                             {{7}, {3}, 2, 1, 1, 1},
                             {{9}, {3}, 1, 2, 2, 2},
                             {{8}, {2}, 3, 0, 1, 1},
                             {{5, 6}, {3, 2}},
                             {{5, 6}, {3, 2}, 2, 1, 2, 4},
                             {{4, 4}, {1, 1}, 2, 0, 1, 1},
                             {{3, 4, 3}, {2, 2, 2}, 1, 1, 1, 2}};

TEST(Function, conv) {
  for (DType d : {kF64, kF32, kI32}) {
    for (const Setting& s : kSettings) {
      const int64_t in = 4 / s.groups;
      const Array x = Numbers(d, Join({2, 4}, s.spatial), -3, 3, 1),
                  w = Numbers(d, Join({8, in}, s.kernel), -3, 3, 2), b = Numbers(d, {8}, -3, 3, 3);
      Attributes attributes = s.Common();
      attributes.push_back({"groups", s.groups});
      Check("conv", {x, w, b}, attributes,
            Fill(d, s.Out({2, 8}),
                 [&](const Index& at) {
                   double sum = b[{at[1]}];
                   const int64_t first = at[1] / (8 / s.groups) * in;
                   s.ForWindow(at, [&](const Index& k, const std::optional<Index>& place) {
                     for (int64_t c = 0; c < in && place.has_value(); ++c) {
                       sum += x[Join({at[0], first + c}, *place)] * w[Join({at[1], c}, k)];
                     }
                   });
                   return sum;
                 }),
            kSum);
    }
  }
  const Array x = Numbers(kF32, {1, 2, 5});
  Check("conv", {x, Of(kF32, {1, 2, 1}, {1, 1})}, {{"padding", Index{2, 0}}},
        Fill(kF32, {1, 1, 7}, [&](const Index& at) {
          return at[2] < 2 ? 0 : x[{0, 0, at[2] - 2}] + x[{0, 1, at[2] - 2}];
        }));
  EXPECT_THAT(Refusal("conv", {x, Zeros(kF32, {1, 3, 2})}, {}),
              HasSubstr("weight: its shape (1, 3, 2) does not fit x"));
  EXPECT_THAT(Refusal("conv", {x, Zeros(kF32, {1, 2, 6})}, {}),
              HasSubstr("in which a window of 6 does not fit"));
  EXPECT_THAT(Refusal("conv", {x, Zeros(kF32, {1, 2, 2})}, {{"stride", 0}}),
              HasSubstr("stride: 0 given, it must be between 1"));
}

TEST(Function, conv_transpose) {
  for (const Setting& s : kSettings) {
    const int64_t out = 8 / s.groups, extra = s.stride > 1 ? 1 : 0;
    const Array x = Numbers(kF32, Join({2, 4}, s.spatial), -3, 3, 1),
                w = Numbers(kF32, Join({4, out}, s.kernel), -3, 3, 2),
                b = Numbers(kF32, {8}, -3, 3, 3);
    Index shape = {2, 8};
    for (size_t i = 0; i < s.spatial.size(); ++i) {
      shape.push_back((s.spatial[i] - 1) * s.stride - 2 * s.padding +
                      s.dilation * (s.kernel[i] - 1) + extra + 1);
    }
    Array y = Fill(kF32, shape, [&](const Index& at) { return b[{at[1]}]; });
    ForEach(x.shape, [&](const Index& at) {
      ForEach(s.kernel, [&](const Index& k) {
        for (int64_t o = 0; o < out; ++o) {
          Index to = {at[0], at[1] / (4 / s.groups) * out + o};
          bool inside = true;
          for (size_t i = 0; i < k.size(); ++i) {
            to.push_back(at[i + 2] * s.stride + k[i] * s.dilation - s.padding);
            inside = inside && to.back() >= 0 && to.back() < shape[i + 2];
          }
          if (inside) y[to] += x[at] * w[Join({at[1], o}, k)];
        }
      });
    });
    Attributes attributes = s.Common();
    attributes.push_back({"groups", s.groups});
    attributes.push_back({"output_padding", extra});
    Check("conv_transpose", {x, w, b}, attributes, y, kSum);
  }
}

void CheckPool(const std::string& function,
               const std::function<double(const std::vector<double>&, int64_t)>& f,
               const Attributes& more = {}) {
  for (const Setting& s : kSettings) {
    const Array x = Numbers(kF32, Join({2, 3}, s.spatial));
    Attributes attributes = s.Common();
    attributes.push_back({"kernel", s.kernel});
    attributes.insert(attributes.end(), more.begin(), more.end());
    Check(function, {x}, attributes,
          Fill(kF32, s.Out({2, 3}),
               [&](const Index& at) {
                 std::vector<double> seen;
                 int64_t padding = 0;
                 s.ForWindow(at, [&](const Index&, const std::optional<Index>& place) {
                   if (place.has_value()) seen.push_back(x[Join({at[0], at[1]}, *place)]);
                   padding += place.has_value() ? 0 : 1;
                 });
                 return f(seen, padding);
               }),
          kSum);
  }
}
double Sum(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum;
}
TEST(Function, max_pool) {
  CheckPool("max_pool", [](const std::vector<double>& v, int64_t) {
    return v.empty() ? -std::numeric_limits<double>::infinity()
                     : *std::max_element(v.begin(), v.end());
  });
  const Array x = Of(kF32, {1, 1, 5}, {1, 2, 3, 4, 5});
  Check("max_pool", {x}, {{"kernel", 2}}, Of(kF32, {1, 1, 2}, {2, 4}));
  Check("max_pool", {x}, {{"kernel", 2}, {"ceil", true}}, Of(kF32, {1, 1, 3}, {2, 4, 5}));
}
TEST(Function, avg_pool) {
  CheckPool("avg_pool", [](const std::vector<double>& v, int64_t padding) {
    return Sum(v) / static_cast<double>(static_cast<int64_t>(v.size()) + padding);
  });
  CheckPool(
      "avg_pool",
      [](const std::vector<double>& v, int64_t) { return Sum(v) / static_cast<double>(v.size()); },
      {{"count_padding", false}});
  const Array x = Of(kF32, {1, 1, 5}, {1, 2, 3, 4, 5});
  Check("avg_pool", {x}, {{"kernel", 2}, {"ceil", true}}, Of(kF32, {1, 1, 3}, {1.5, 3.5, 5}));
}
void CheckAdaptive(const std::string& function,
                   const std::function<double(const std::vector<double>&)>& f,
                   const Attributes& more = {}) {
  for (const Index& sizes : {Index{2, 3}, {5, 7}, {1, 1}, {4, 9}}) {
    const Array x = Numbers(kF32, {2, 3, 4, 7});
    Attributes attributes = more;
    attributes.push_back({"sizes", sizes});
    Check(function, {x}, attributes,
          Fill(kF32, {2, 3, sizes[0], sizes[1]},
               [&](const Index& at) {
                 std::vector<double> seen;
                 ForEach({4, 7}, [&](const Index& in) {
                   bool inside = true;
                   for (size_t i = 0; i < 2; ++i) {
                     const int64_t n = x.shape[i + 2], m = sizes[i], o = at[i + 2];
                     inside = inside && in[i] >= o * n / m && in[i] < ((o + 1) * n + m - 1) / m;
                   }
                   if (inside) seen.push_back(x[{at[0], at[1], in[0], in[1]}]);
                 });
                 return f(seen);
               }),
          kSum);
  }
}
double Mean(const std::vector<double>& v) { return Sum(v) / static_cast<double>(v.size()); }
TEST(Function, adaptive_avg_pool) { CheckAdaptive("adaptive_avg_pool", Mean); }
TEST(Function, adaptive_max_pool) {
  CheckAdaptive("adaptive_max_pool",
                [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); });
}
TEST(Function, unfold) {
  const Setting s = {{5, 6}, {3, 2}, 2, 1, 1, 1};
  const Array x = Numbers(kF32, {2, 3, 5, 6});
  Attributes attributes = s.Common();
  attributes.push_back({"kernel", s.kernel});
  const int64_t width = s.Places(1);
  Check("unfold", {x}, attributes, Fill(kF32, {2, 18, s.Places(0) * width}, [&](const Index& at) {
          double value = 0;
          s.ForWindow({at[0], 0, at[2] / width, at[2] % width},
                      [&](const Index& k, const std::optional<Index>& place) {
                        if (place.has_value() && at[1] % 6 == k[0] * 2 + k[1])
                          value = x[Join({at[0], at[1] / 6}, *place)];
                      });
          return value;
        }));
}
TEST(Function, interpolate) {
  CheckAdaptive("interpolate", Mean, {{"mode", "area"}});
  for (const Index& sizes : {Index{4, 7}, {9, 3}, {1, 1}, {8, 14}}) {
    const Array x = Numbers(kF32, {1, 2, 4, 7});
    Check("interpolate", {x}, {{"sizes", sizes}},
          Fill(kF32, {1, 2, sizes[0], sizes[1]}, [&](const Index& at) {
            return x[{at[0], at[1], at[2] * 4 / sizes[0], at[3] * 7 / sizes[1]}];
          }));
    for (bool align : {false, true}) {
      Check("interpolate", {x}, {{"sizes", sizes}, {"mode", "linear"}, {"align_corners", align}},
            Fill(kF32, {1, 2, sizes[0], sizes[1]},
                 [&](const Index& at) {
                   int64_t low[2];
                   double weight[2];
                   for (size_t i = 0; i < 2; ++i) {
                     const auto n = static_cast<double>(x.shape[i + 2]),
                                m = static_cast<double>(sizes[i]),
                                o = static_cast<double>(at[i + 2]);
                     double p = align ? (m > 1 ? o * (n - 1) / (m - 1) : 0)
                                      : std::max(0.0, (o + 0.5) * n / m - 0.5);
                     if (n == m) p = o;
                     low[i] = static_cast<int64_t>(p + 1e-9);
                     weight[i] = p - static_cast<double>(low[i]);
                   }
                   double sum = 0;
                   ForEach({2, 2}, [&](const Index& c) {
                     const double w = (c[0] == 1 ? weight[0] : 1 - weight[0]) *
                                      (c[1] == 1 ? weight[1] : 1 - weight[1]);
                     sum += w * x[{at[0], at[1], std::min<int64_t>(low[0] + c[0], 3),
                                   std::min<int64_t>(low[1] + c[1], 6)}];
                   });
                   return sum;
                 }),
            kSum);
    }
  }
}

// Keys' cubic with a = -3/4.
double Cubic(double d) {
  d = std::abs(d);
  if (d < 1) return (1.25 * d - 2.25) * d * d + 1;
  return d < 2 ? ((-0.75 * d + 3.75) * d - 6) * d + 3 : 0;
}
TEST(Interpolate, CubicAndNearestExact) {
  const Array x = Numbers(kF32, {1, 2, 5});
  for (int64_t m : {3, 5, 8, 12}) {
    Check("interpolate", {x}, {{"sizes", m}, {"mode", "nearest_exact"}},
          Fill(kF32, {1, 2, m},
               [&](const Index& at) { return x[{0, at[1], (2 * at[2] + 1) * 5 / (2 * m)}]; }));
    for (bool align : {false, true}) {
      const Array y = Fill(kF32, {1, 2, m}, [&](const Index& at) {
        const auto o = static_cast<double>(at[2]), n = static_cast<double>(m);
        const double p = align ? o * 4 / (n - 1) : (o + 0.5) * 5 / n - 0.5;
        double sum = 0;
        for (int64_t i = -3; i < 9; ++i) {
          const int64_t element = std::clamp<int64_t>(i, 0, 4);
          sum += Cubic(p - static_cast<double>(i)) * x[{0, at[1], element}];
        }
        return sum;
      });
      Check("interpolate", {x}, {{"sizes", m}, {"mode", "cubic"}, {"align_corners", align}}, y,
            kSum);
    }
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
