#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kBool = DType::kBool, kI32 = DType::kInt32, kI64 = DType::kInt64,
                kF32 = DType::kFloat32, kF64 = DType::kFloat64;

// One source after another; a mean at the end.
Array Scattered(const Array& x, const Array& index, const Array& source, size_t axis,
                const std::string& reduce, bool with_self) {
  std::map<Index, std::vector<double>> got;
  ForEach(index.shape, [&](const Index& at) {
    auto k = static_cast<int64_t>(index[at]);
    if (k < 0) k += x.shape[axis];
    if (k < 0 || k >= x.shape[axis]) return;
    Index to = at;
    to[axis] = k;
    got[to].push_back(source[at]);
  });
  Array y = x;
  for (auto& [at, sources] : got) {
    if (with_self && reduce != "set") sources.insert(sources.begin(), x[at]);
    double v = sources[0];
    for (size_t i = 1; i < sources.size(); ++i) {
      const double s = sources[i];
      v = reduce == "set"    ? s
          : reduce == "prod" ? v * s
          : reduce == "max"  ? std::max(v, s)
          : reduce == "min"  ? std::min(v, s)
                             : v + s;
    }
    if (reduce == "mean") v /= static_cast<double>(sources.size());
    y[at] = dtype::IsFloat(x.dtype) ? v : std::trunc(v);
  }
  return y;
}
void CheckScatter(DType d, const Index& x_shape, const Index& index_shape, int64_t axis) {
  const auto a = static_cast<size_t>(axis);
  const auto n = static_cast<double>(x_shape[a]);
  const Array x = Numbers(d, x_shape, -3, 3, 1), i = Numbers(kI32, index_shape, -n - 1, n + 1, 2);
  for (const std::string reduce : {"set", "sum", "mean", "prod", "max", "min"}) {
    // Products of many are beyond all numbers, but for those near 1.
    const bool is_product = reduce == "prod";
    const Array s = is_product && d != kI32 ? Numbers(d, index_shape, 0.75, 1.25, 3)
                    : is_product            ? Numbers(d, index_shape, -1, 1, 3)
                                            : Numbers(d, index_shape, -3, 3, 3);
    for (bool with_self : {true, false}) {
      Check("scatter", {x, i, s}, {{"axis", axis}, {"reduce", reduce}, {"include_self", with_self}},
            Scattered(x, i, s, a, reduce, with_self), {.ulps = 64, .scale = 9});
    }
  }
}
TEST(Function, scatter) {
  for (DType d : {kF32, kI32}) {
    CheckScatter(d, {4, 6}, {3, 5}, 1);
    CheckScatter(d, {4, 6}, {7, 6}, 0);
  }
  CheckScatter(kF32, {2, 70}, {2, 90}, 1);  // By sorting.
  CheckScatter(kI32, {130, 2}, {100, 1}, 0);
  Check("scatter", {Zeros(kF32, {3}), Of(kI32, {2}, {2, 2}), Of(kF32, {}, {5})}, {},
        Of(kF32, {3}, {0, 0, 5}));
  Check("scatter", {Numbers(kF32, {3}), Zeros(kI32, {0}), Zeros(kF32, {0})}, {},
        Numbers(kF32, {3}));
  EXPECT_THAT(
      Refusal("scatter", {Zeros(kF32, {3}), Zeros(kI32, {2}), Zeros(kF32, {2})},
              {{"reduce", "median"}}),
      HasSubstr("reduce: \"median\" given, it must be one of set, sum, mean, prod, max, min"));
}

// ** index_put **
int64_t Wrapped(double i, int64_t n) {
  return static_cast<int64_t>(i < 0 ? i + static_cast<double>(n) : i);
}

TEST(Function, index_put) {
  for (bool accumulate : {false, true}) {
    const auto put = [&](double& to, double v) { to = accumulate ? to + v : v; };
    const Attributes how = {{"accumulate", accumulate}};
    // x[i] of a matrix, with repeated rows.
    const Array x = Numbers(kF32, {4, 3}, -9, 9, 1), i = Of(kI32, {5}, {1, -1, 1, 0, 9}),
                v = Numbers(kF32, {5, 3}, -9, 9, 2);
    Array y = x;
    ForEach(v.shape, [&](const Index& at) {
      const int64_t row = Wrapped(i[{at[0]}], 4);
      if (row < 4) put(y[{row, at[1]}], v[at]);
    });
    Check("index_put", {x, v, i}, how, y, {.scale = 16});
    // x[:, i, j] = a value that broadcasts, indices that broadcast.
    const Array c = Numbers(kF32, {2, 4, 5}, -9, 9, 3), p = Of(kI64, {2, 1}, {3, -4}),
                q = Of(kI32, {3}, {0, 4, 2}), w = Numbers(kF32, {2, 1, 3}, -9, 9, 4);
    Array z = c;
    ForEach({2, 2, 3}, [&](const Index& at) {
      put(z[{at[0], Wrapped(p[{at[1], 0}], 4), Wrapped(q[{at[2]}], 5)}], w[{at[0], 0, at[2]}]);
    });
    Check("index_put", {c, w, p, q}, {{"accumulate", accumulate}, {"axes", Index{1, 2}}}, z,
          {.scale = 16});
    // x[i, :, j]: the axes of the indices come first.
    const Array r = Of(kI32, {3}, {0, 1, 1}), u = Numbers(kF32, {3, 4}, -9, 9, 5);
    z = c;
    ForEach({3, 4}, [&](const Index& at) {
      put(z[{static_cast<int64_t>(r[{at[0]}]), at[1], static_cast<int64_t>(q[{at[0]}])}], u[at]);
    });
    Check("index_put", {c, u, r, q}, {{"accumulate", accumulate}, {"axes", Index{0, 2}}}, z,
          {.scale = 16});
    // One element.
    z = c;
    put(z[{1, 2, 3}], 7);
    const Array one = Of(kI32, {}, {1}), two = Of(kI32, {}, {2}), three = Of(kI32, {}, {-2});
    Check("index_put", {c, Of(kF32, {}, {7}), one, two, three}, how, z, {.scale = 16});
  }
  EXPECT_THAT(Refusal("index_put", {Zeros(kF32, {3}), Zeros(kF32, {2}), Zeros(kI32, {4})}, {}),
              HasSubstr("the shapes (2) and (4) do not broadcast"));
  EXPECT_THAT(Refusal("index_put", {Zeros(kF32, {3}), Zeros(kF32, {}), Zeros(kI32, {4})},
                      {{"axes", Index{0, 1}}}),
              HasSubstr("axes: 2 given, there are 1 indices"));
}
TEST(Function, slice_put) {
  const Array x = Numbers(kF32, {5, 7}, -9, 9, 1);
  const auto check = [&](const Array& v, Index begin, Index end, Index step, Index axes,
                         const std::vector<Index>& places) {
    Array y = x;
    size_t k = 0;
    for (const Index& at : places) y[at] = v.v[k++ % v.v.size()];
    Check("slice_put", {x, v}, {{"begin", begin}, {"end", end}, {"step", step}, {"axes", axes}}, y);
  };
  std::vector<Index> places;
  for (int64_t i : {1, 2, 3}) {
    for (int64_t j : {6, 4, 2}) places.push_back({i, j});
  }
  check(Numbers(kF32, {3, 3}, -9, 9, 2), {1, -1}, {4, 0}, {1, -2}, {0, 1}, places);
  places.clear();
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j : {0, 3, 6}) places.push_back({i, j});
  }
  check(Of(kF32, {}, {3}), {0}, {99}, {3}, {1}, places);
  check(Of(kF32, {}, {3}), {4}, {2}, {1}, {0}, {});
  EXPECT_THAT(Refusal("slice_put", {x, Zeros(kF32, {2})}, {{"begin", 0}, {"end", 1}, {"axes", 1}}),
              HasSubstr("does not broadcast to (5, 1)"));
}

// ** counts **
TEST(Function, bincount) {
  const Array x = Numbers(kI32, {3, 50}, -1, 9), w = Numbers(kF64, {3, 50}, -2, 2, 2);
  Array counts = Zeros(kI64, {8}), sums = Zeros(kF64, {8});
  for (size_t i = 0; i < x.v.size(); ++i) {
    if (x.v[i] < 0 || x.v[i] > 7) continue;
    counts[{static_cast<int64_t>(x.v[i])}] += 1;
    sums[{static_cast<int64_t>(x.v[i])}] += w.v[i];
  }
  Check("bincount", {x}, {{"size", 8}}, counts);
  Check("bincount", {x, w}, {{"size", 8}}, sums, {.scale = 64});
  Check("bincount", {Zeros(kI32, {0})}, {{"size", 2}}, Zeros(kI64, {2}));
  EXPECT_THAT(Refusal("bincount", {x, Zeros(kF32, {3})}, {{"size", 8}}),
              HasSubstr("weights: its shape is (3), it must be (3, 50)"));
}
TEST(Function, histogram) {
  Array x = Numbers(kF32, {200}, -2, 2);
  x.v[0] = std::numeric_limits<double>::quiet_NaN();
  x.v[1] = 1.5;
  x.v[2] = -1;
  Array counts = Zeros(kI64, {5});
  for (double v : x.v) {
    if (!(v >= -1 && v <= 1.5)) continue;
    counts[{std::min<int64_t>(static_cast<int64_t>(std::floor((v + 1) * 2)), 4)}] += 1;
  }
  Check("histogram", {x}, {{"bins", 5}, {"min", -1}, {"max", 1.5}}, counts);
  EXPECT_THAT(Refusal("histogram", {x}, {{"bins", 5}, {"min", 1}, {"max", 1}}),
              HasSubstr("max: 1 given, it must be above min, 1"));
}

// ** places of a mask **
TEST(Function, nonzero) {
  const Array m = Of(kBool, {2, 3}, {0, 1, 1, 0, 0, 1});
  Check("nonzero", {m}, {{"size", 4}},
        Arrays{Of(kI64, {4, 2}, {0, 1, 0, 2, 1, 2, -1, -1}), Of(kI64, {}, {3})});
  Check("nonzero", {m}, {{"size", 1}}, Arrays{Of(kI64, {1, 2}, {0, 1}), Of(kI64, {}, {3})});
  Check("nonzero", {Zeros(kF32, {0})}, {{"size", 2}},
        Arrays{Of(kI64, {2, 1}, {-1, -1}), Of(kI64, {}, {0})});
  const Array line = Map(Numbers(kI32, {300}, -1, 1), kBool, [](double v) { return v > 0; });
  Array index = Zeros(kI64, {300, 1});
  std::fill(index.v.begin(), index.v.end(), -1);
  double total = 0;
  for (size_t i = 0; i < 300; ++i) {
    if (line.v[i] != 0) index.v[static_cast<size_t>(total++)] = static_cast<double>(i);
  }
  Check("nonzero", {line}, {{"size", 300}}, Arrays{index, Of(kI64, {}, {total})});
}
TEST(Function, masked_select) {
  const Array x = Of(kF32, {2, 3}, {1, 2, 3, 4, 5, 6}), m = Of(kBool, {3}, {0, 1, 1});
  Check("masked_select", {x, m}, {{"size", 6}, {"fill", -1}},
        Arrays{Of(kF32, {6}, {2, 3, 5, 6, -1, -1}), Of(kI64, {}, {4})});
}

}  // namespace
}  // namespace kiln::tensor::functions
