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
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kBool = DType::kBool, kI8 = DType::kInt8, kI32 = DType::kInt32,
                kI64 = DType::kInt64, kF32 = DType::kFloat32;

// x at `at`, with the coordinate of `axis` an index as functions take it.
double At(const Array& x, Index at, size_t axis, double index) {
  auto i = static_cast<int64_t>(index);
  if (i < 0) i += x.shape[axis];
  if (i < 0 || i >= x.shape[axis]) return 0;
  at[axis] = i;
  return x[at];
}

TEST(Function, gather) {
  for (DType d : {kF32, kI8, kBool}) {
    const Array x = Numbers(d, {4, 5}, -9, 9),
                i = Numbers(kI32, {3, 7}, -6, 6);  // Some are outside.
    Check("gather", {x, i}, {{"axis", 1}},
          Fill(d, {3, 7}, [&](const Index& at) { return At(x, at, 1, i[at]); }));
    const Array j = Numbers(kI64, {7, 2}, -4, 3);
    Check("gather", {x, j}, {{"axis", 0}},
          Fill(d, {7, 2}, [&](const Index& at) { return At(x, at, 0, j[at]); }));
  }
  EXPECT_THAT(
      Refusal("gather", {Zeros(kF32, {2, 3}), Zeros(kI32, {3, 3})}, {}),
      HasSubstr("index: its shape (3, 3) does not fit into that of x, (2, 3), beside axis 1"));
}
TEST(Function, take_along_axis) {
  const Array x = Numbers(kF32, {4, 1}, -9, 9), i = Numbers(kI32, {2, 3}, 0, 3);
  Check("take_along_axis", {x, i}, {{"axis", 0}},
        Fill(kF32, {2, 3}, [&](const Index& at) { return At(x, {0, 0}, 0, i[at]); }));
  const Array y = Numbers(kF32, {4, 5}, -9, 9), j = Numbers(kI32, {1, 2}, 0, 4);
  Check("take_along_axis", {y, j}, {{"axis", 1}},
        Fill(kF32, {4, 2}, [&](const Index& at) { return At(y, {at[0], 0}, 1, j[{0, at[1]}]); }));
}
TEST(Function, index_select) {
  const Array x = Numbers(kF32, {2, 5, 3}, -9, 9), i = Numbers(kI32, {2, 2}, -5, 4);
  Check("index_select", {x, i}, {{"axis", 1}}, Fill(kF32, {2, 2, 2, 3}, [&](const Index& at) {
          return At(x, {at[0], 0, at[3]}, 1, i[{at[1], at[2]}]);
        }));
  Check("index_select", {x, Of(kI32, {}, {-1})}, {{"axis", 0}},
        Fill(kF32, {5, 3}, [&](const Index& at) { return x[{1, at[0], at[1]}]; }));
}
TEST(Function, embedding) {
  const Array i = Numbers(kI64, {2, 3}, 0, 6), w = Numbers(DType::kFloat16, {7, 4});
  Check("embedding", {i, w}, {}, Fill(DType::kFloat16, {2, 3, 4}, [&](const Index& at) {
          return At(w, {0, at[2]}, 0, i[{at[0], at[1]}]);
        }));
}
TEST(Function, index) {
  const Array x = Numbers(kF32, {3, 4, 5}, -9, 9);
  const Array i = Numbers(kI32, {2, 1}, -3, 2, 1), j = Numbers(kI32, {3}, -4, 3, 2);
  const auto wrapped = [](double v, int64_t n) {
    return static_cast<int64_t>(v < 0 ? v + static_cast<double>(n) : v);
  };
  Check("index", {x, i, j}, {}, Fill(kF32, {2, 3, 5}, [&](const Index& at) {
          return x[{wrapped(i[{at[0], 0}], 3), wrapped(j[{at[1]}], 4), at[2]}];
        }));
  Check("index", {x, j}, {{"axes", 1}}, Fill(kF32, {3, 3, 5}, [&](const Index& at) {
          return x[{at[0], wrapped(j[{at[1]}], 4), at[2]}];
        }));
  Check("index", {x, Of(kI32, {1}, {1}), Of(kI32, {1}, {9})}, {}, Zeros(kF32, {1, 5}));
  // Neighbours in another order stay in place; others come first, as in numpy.
  Check("index", {x, j, i}, {{"axes", Index{2, 1}}}, Fill(kF32, {3, 2, 3}, [&](const Index& at) {
          return x[{at[0], wrapped(i[{at[1], 0}], 4), wrapped(j[{at[2]}], 5)}];
        }));
  Check("index", {x, i, j}, {{"axes", Index{0, -1}}}, Fill(kF32, {2, 3, 4}, [&](const Index& at) {
          return x[{wrapped(i[{at[0], 0}], 3), at[2], wrapped(j[{at[1]}], 5)}];
        }));
  Check("index", {x, Of(kI32, {}, {2}), j}, {{"axes", Index{0, 2}}},
        Fill(kF32, {3, 4}, [&](const Index& at) { return x[{2, at[1], wrapped(j[{at[0]}], 5)}]; }));
  EXPECT_THAT(Refusal("index", {x, i, i, i, i}, {}), HasSubstr("indices: 4 given, x has 3 axes"));
  EXPECT_THAT(Refusal("index", {x, i, j}, {{"axes", Index{1, 1}}}),
              HasSubstr("axes: axis 1 is named twice"));
}
TEST(Function, one_hot) {
  const Array i = Numbers(kI32, {2, 3}, -1, 4);
  Check("one_hot", {i}, {{"classes", 4}}, Fill(kI64, {2, 3, 4}, [&](const Index& at) {
          return i[{at[0], at[1]}] == static_cast<double>(at[2]);
        }));
  Check("one_hot", {Of(kI32, {}, {1})}, {{"classes", 2}, {"dtype", kF32}}, Of(kF32, {2}, {0, 1}));
}
TEST(Function, masked_fill) {
  const Array x = Numbers(kI32, {3, 4}), m = Numbers(kBool, {4}, 0, 1);
  Check("masked_fill", {x, m}, {{"value", 7}},
        Fill(kI32, {3, 4}, [&](const Index& at) { return m[{at[1]}] != 0 ? 7 : x[at]; }));
}

// ** order **

Array SortedBy(const Array& x, int64_t axis, bool descending, bool index, size_t k) {
  return Lines(x, index ? kI64 : x.dtype, axis, [&](std::vector<double>& v) {
    std::vector<size_t> order(v.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (std::isnan(v[a]) || std::isnan(v[b])) return !std::isnan(v[a]) && std::isnan(v[b]);
      return descending ? v[b] < v[a] : v[a] < v[b];
    });
    std::vector<double> out;
    for (size_t i : order) out.push_back(index ? static_cast<double>(i) : v[i]);
    out.resize(std::min(k, out.size()));
    v = out;
  });
}
constexpr size_t kAll = 1 << 20;
void CheckOrders(const std::function<void(const Array&, int64_t, bool)>& f) {
  for (bool reversed : {false, true}) {
    for (DType d : {kF32, kI8, DType::kUInt32, kI64, DType::kFloat64}) {
      for (const auto& [shape, axis] : {std::pair<Index, int64_t>{{9}, 0},
                                        {{3, 7}, 0},
                                        {{3, 7}, -1},
                                        {{1, 2, 5}, 1},
                                        {{1}, 0},
                                        {{0}, 0},
                                        {{2, 37, 2}, 1},
                                        {{128}, 0}}) {
        f(Numbers(d, shape, -3, 3), axis, reversed);  // Integers have ties.
      }
    }
    f(Of(kF32, {5}, {2, kNan, 1, kNan, 3}), 0, reversed);
    for (DType d : {kF32, DType::kFloat16, DType::kFloat64}) {  // By a network.
      Array x = Map(Numbers(d, {50}, -3, 3), [](double v) { return std::round(v); });
      x.v[7] = x.v[30] = kNan;
      x.v[8] = kInf;
      x.v[20] = -kInf;
      x.v[21] = -0.0;
      f(x, 0, reversed);
    }
  }
}
TEST(Function, sort) {
  CheckOrders([](const Array& x, int64_t axis, bool d) {
    Check("sort", {x}, {{"axis", axis}, {"descending", d}},
          Arrays{SortedBy(x, axis, d, false, kAll), SortedBy(x, axis, d, true, kAll)});
  });
}
TEST(Function, argsort) {
  CheckOrders([](const Array& x, int64_t axis, bool d) {
    Check("argsort", {x}, {{"axis", axis}, {"descending", d}}, SortedBy(x, axis, d, true, kAll));
  });
}
TEST(Function, topk) {
  const Array line = Map(Numbers(kF32, {2, 300}, -30, 30), [](double v) { return std::round(v); });
  for (bool largest : {true, false}) {
    for (int64_t k : {0, 3, 5, 70, 300}) {
      const auto size = static_cast<size_t>(k);
      Check(
          "topk", {line}, {{"k", k}, {"largest", largest}},
          Arrays{SortedBy(line, 1, largest, false, size), SortedBy(line, 1, largest, true, size)});
    }
  }
  CheckOrders([](const Array& x, int64_t axis, bool d) {
    if (x.v.empty()) return;
    Check("topk", {x}, {{"k", 1}, {"axis", axis}, {"largest", d}},
          Arrays{SortedBy(x, axis, d, false, 1), SortedBy(x, axis, d, true, 1)});
  });
  EXPECT_THAT(Refusal("topk", {Zeros(kF32, {3})}, {{"k", 4}}),
              HasSubstr("k: 4 given, axis 0 has size 3"));
}

TEST(Function, searchsorted) {
  for (bool right : {false, true}) {
    const auto count = [&](const std::vector<double>& line, double v) {
      return static_cast<double>(std::count_if(line.begin(), line.end(),
                                               [&](double x) { return right ? x <= v : x < v; }));
    };
    for (int64_t n : {0, 1, 2, 7, 8, 9}) {
      Array sorted = Numbers(kF32, {n}, -3, 3);
      std::sort(sorted.v.begin(), sorted.v.end());
      Array values = Numbers(kF32, {2, 5}, -4, 4, 2);
      if (n > 2) values.v[3] = sorted.v[2];
      Check("searchsorted", {sorted, values}, {{"right", right}},
            Map(values, kI64, [&](double v) { return count(sorted.v, v); }));
    }
    const Array rows = Of(kI32, {2, 3}, {1, 3, 3, 0, 2, 4}), v = Of(kI32, {2, 2}, {3, 0, 4, 1});
    Check("searchsorted", {rows, v}, {{"right", right}}, Fill(kI64, {2, 2}, [&](const Index& at) {
            const auto* const line = rows.v.data() + at[0] * 3;
            return count({line, line + 3}, v[at]);
          }));
  }
  const double values[] = {1, 2, kNan};
  Check("searchsorted", {Of(kF32, {3}, {values[0], values[1], values[2]}), Of(kF32, {}, {kNan})},
        {}, Of(kI64, {}, {2}));
  EXPECT_THAT(Refusal("searchsorted", {Zeros(kF32, {2, 3}), Zeros(kF32, {3})}, {}),
              HasSubstr("values: it has 1 axes, sorted has 2"));
}

}  // namespace
}  // namespace kiln::tensor::functions
