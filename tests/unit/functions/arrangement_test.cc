#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kI32 = DType::kInt32, kF32 = DType::kFloat32;

TEST(Function, unflatten) {
  const Array x = Numbers(kI32, {3, 12}, -99, 99);
  Check("unflatten", {x}, {{"sizes", Index{2, -1, 3}}}, Reshaped(x, {3, 2, 2, 3}));
  Check("unflatten", {x}, {{"sizes", Index{3}}, {"axis", 0}}, x);
  EXPECT_THAT(Refusal("unflatten", {x}, {{"sizes", Index{5, 2}}}),
              HasSubstr("sizes: (5, 2) given, axis 1 has size 12"));
  EXPECT_THAT(Refusal("unflatten", {x}, {{"sizes", Index{-1, -1}}}), HasSubstr("twice"));
}
TEST(Function, chunk) {
  const Array x = Numbers(kI32, {7, 2}, -99, 99);
  const auto rows = [&](int64_t begin, int64_t end) {
    return Fill(kI32, {end - begin, 2}, [&](const Index& at) { return x[{at[0] + begin, at[1]}]; });
  };
  Check("chunk", {x}, {{"chunks", 3}, {"axis", 0}}, Arrays{rows(0, 3), rows(3, 5), rows(5, 7)});
  Check("chunk", {rows(0, 1)}, {{"chunks", 2}, {"axis", 0}}, Arrays{rows(0, 1), rows(1, 1)});
}
TEST(Function, unbind) {
  const Array x = Numbers(kI32, {2, 3}, -99, 99);
  const auto column = [&](int64_t i) {
    return Fill(kI32, {2}, [&](const Index& at) { return x[{at[0], i}]; });
  };
  Check("unbind", {x}, {{"axis", 1}}, Arrays{column(0), column(1), column(2)});
}
TEST(Function, rot90) {
  const Array x = Numbers(kI32, {3, 5}, -99, 99);
  const Array turned = Fill(kI32, {5, 3}, [&](const Index& at) { return x[{at[1], 4 - at[0]}]; });
  Check("rot90", {x}, {}, turned);
  Check("rot90", {x}, {{"times", -4}}, x);
  Check("rot90", {x}, {{"times", 2}},
        Fill(kI32, {3, 5}, [&](const Index& at) { return x[{2 - at[0], 4 - at[1]}]; }));
  Check("rot90", {turned}, {{"times", 3}}, x);
  const Array b = Numbers(kI32, {2, 3, 4}, -99, 99);
  Check("rot90", {b}, {{"axis0", 1}, {"axis1", 2}},
        Fill(kI32, {2, 4, 3}, [&](const Index& at) { return b[{at[0], at[2], 3 - at[1]}]; }));
}

// ** channels and space **
TEST(Function, pixel_shuffle) {
  const Array x = Numbers(kF32, {2, 8, 3, 2});
  Check("pixel_shuffle", {x}, {{"factor", 2}}, Fill(kF32, {2, 2, 6, 4}, [&](const Index& at) {
          const int64_t channel = at[1] * 4 + at[2] % 2 * 2 + at[3] % 2;
          return x[{at[0], channel, at[2] / 2, at[3] / 2}];
        }));
  EXPECT_THAT(Refusal("pixel_shuffle", {x}, {{"factor", 3}}),
              HasSubstr("factor: 9 given, which does not divide the channels of x, 8"));
}
TEST(Function, pixel_unshuffle) {
  const Array x = Numbers(kF32, {2, 2, 6, 4});
  Check("pixel_unshuffle", {x}, {{"factor", 2}}, Fill(kF32, {2, 8, 3, 2}, [&](const Index& at) {
          const int64_t inside = at[1] % 4;
          return x[{at[0], at[1] / 4, at[2] * 2 + inside / 2, at[3] * 2 + inside % 2}];
        }));
}
TEST(Function, channel_shuffle) {
  const Array x = Numbers(kF32, {2, 6, 3});
  Check("channel_shuffle", {x}, {{"groups", 2}}, Fill(kF32, {2, 6, 3}, [&](const Index& at) {
          return x[{at[0], at[1] % 2 * 3 + at[1] / 2, at[2]}];
        }));
}
// The columns of `unfold` one by one, added where they were taken.
void CheckFold(const Index& sizes, const Index& kernel, const Index& stride, const Index& padding,
               const Index& dilation) {
  const size_t dims = sizes.size();
  Index places(dims), shape = {2, 3};
  int64_t elements = 1, windows = 1;
  for (size_t i = 0; i < dims; ++i) {
    places[i] = (sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    elements *= kernel[i];
    windows *= places[i];
    shape.push_back(sizes[i]);
  }
  const Array x = Numbers(DType::kFloat64, {2, 3 * elements, windows});
  Array y = Zeros(DType::kFloat64, shape);
  ForEach({2, 3}, [&](const Index& nc) {
    int64_t e = 0;
    ForEach(kernel, [&](const Index& element) {
      int64_t w = 0;
      ForEach(places, [&](const Index& place) {
        Index at = nc;
        bool is_inside = true;
        for (size_t i = 0; i < dims; ++i) {
          at.push_back(place[i] * stride[i] + element[i] * dilation[i] - padding[i]);
          is_inside &= at.back() >= 0 && at.back() < sizes[i];
        }
        if (is_inside) y[at] += x[{nc[0], nc[1] * elements + e, w}];
        ++w;
      });
      ++e;
    });
  });
  Check("fold", {x},
        {{"sizes", sizes},
         {"kernel", kernel},
         {"stride", stride},
         {"padding", padding},
         {"dilation", dilation}},
        y, {.scale = 16});
}
TEST(Function, fold) {
  CheckFold({7}, {3}, {1}, {0}, {1});
  CheckFold({7}, {2}, {3}, {1}, {2});
  CheckFold({5, 6}, {3, 2}, {2, 1}, {1, 0}, {1, 2});
  CheckFold({4, 3, 5}, {2, 2, 3}, {1, 1, 2}, {0, 1, 1}, {1, 1, 1});
  EXPECT_THAT(Refusal("fold", {Zeros(kF32, {1, 5, 4})}, {{"sizes", 6}, {"kernel", 3}}),
              HasSubstr("x: its shape is (1, 5, 4), it must be [n, a multiple of 3, 4]"));
}

// ** matrices of parts **
TEST(Function, diag_embed) {
  const Array x = Numbers(kI32, {2, 3}, 1, 99);
  for (int64_t offset : {-2, 0, 1}) {
    const int64_t n = 3 + std::abs(offset);
    Check("diag_embed", {x}, {{"offset", offset}}, Fill(kI32, {2, n, n}, [&](const Index& at) {
            return at[2] == at[1] + offset ? x[{at[0], std::min(at[1], at[2])}] : 0;
          }));
  }
}
TEST(Function, block_diag) {
  const Array x = Numbers(kI32, {2, 3}, 1, 99, 1), y = Numbers(kI32, {1, 2}, 1, 99, 2);
  Check("block_diag", {x, y}, {}, Fill(kI32, {3, 5}, [&](const Index& at) {
          if (at[0] < 2) return at[1] < 3 ? x[at] : 0;
          return at[1] >= 3 ? y[{0, at[1] - 3}] : 0;
        }));
}

}  // namespace
}  // namespace kiln::tensor::functions
