// Functions whose form for many elements is another one than for few, on the engine.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

constexpr DType kI32 = DType::kInt32, kI64 = DType::kInt64, kF32 = DType::kFloat32;

TEST(Large, SortIsStable) {
  const Array x = Map(Numbers(kF32, {50000}, -1000, 1000), [](double v) { return std::round(v); });
  std::vector<size_t> order(x.v.size());
  std::iota(order.begin(), order.end(), 0);
  for (bool descending : {false, true}) {
    std::sort(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return descending ? x.v[b] < x.v[a] : x.v[a] < x.v[b];
    });
    Array values = x, index = Zeros(kI64, x.shape);
    for (size_t i = 0; i < order.size(); ++i) {
      values.v[i] = x.v[order[i]];
      index.v[i] = static_cast<double>(order[i]);
    }
    Check("sort", {x}, {{"descending", descending}}, Arrays{values, index});
    for (Array* a : {&values, &index}) {
      a->shape = {100};
      a->v.resize(100);
    }
    Check("topk", {x}, {{"k", 100}, {"largest", descending}}, Arrays{values, index});
  }
}

TEST(Large, Scans) {
  const Array x = Map(Numbers(kI32, {2, 20000}, -9, 9), [](double v) { return std::round(v); });
  Check("cumsum", {x}, {}, Lines(x, kI64, 1, [](std::vector<double>& v) {
          std::partial_sum(v.begin(), v.end(), v.begin());
        }));
}

TEST(Large, Scatter) {
  const int64_t n = 5000, m = 20000;
  const Array x = Numbers(kI32, {n}, -9, 9, 1), s = Numbers(kI32, {m}, -9, 9, 3),
              i = Numbers(kI32, {m}, 0, static_cast<double>(n - 1), 2);
  Array sum = x, last = x, counts = Zeros(kI64, {n});
  for (size_t k = 0; k < s.v.size(); ++k) {
    const auto at = static_cast<size_t>(i.v[k]);
    sum.v[at] += s.v[k];
    last.v[at] = s.v[k];
    counts.v[at] += 1;
  }
  Check("scatter", {x, i, s}, {{"reduce", "sum"}}, sum);
  Check("scatter", {x, i, s}, {}, last);
  Check("bincount", {i}, {{"size", n}}, counts);
}

}  // namespace
}  // namespace kiln::tensor::functions
