#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kI32 = DType::kInt32, kF32 = DType::kFloat32, kBool = DType::kBool;
using Line = std::vector<double>;

Array Counting(const Index& shape) {
  double next = 1;
  return Fill(kI32, shape, [&next](const Index&) { return next++; });
}
Array Of(const Array& x, const Index& shape, const std::function<Index(const Index&)>& from) {
  return Fill(x.dtype, shape, [&](const Index& at) { return x[from(at)]; });
}

TEST(Function, reshape) {
  const Array x = Counting({2, 6});
  Check("reshape", {x}, {{"shape", Index{3, 4}}}, Reshaped(x, {3, 4}));
  Check("reshape", {x}, {{"shape", Index{2, -1, 2}}}, Reshaped(x, {2, 3, 2}));
  Check("reshape", {Counting({})}, {{"shape", Index{1, 1}}}, Counting({1, 1}));
  EXPECT_THAT(Refusal("reshape", {x}, {{"shape", Index{5, -1}}}),
              HasSubstr("shape: (5, -1) given, which does not hold the 12 elements of (2, 6)"));
  EXPECT_THAT(Refusal("reshape", {x}, {{"shape", Index{-1, -1}}}), HasSubstr("twice"));
}
TEST(Function, expand) {
  const Array x = Counting({3, 1});
  Check("expand", {x}, {{"shape", Index{2, -1, 4}}},
        Of(x, {2, 3, 4}, [](const Index& at) { return Index{at[1], 0}; }));
  EXPECT_THAT(Refusal("expand", {x}, {{"shape", Index{4, 4}}}), HasSubstr("(3, 1)"));
}
TEST(Function, permute) {
  const Array x = Counting({2, 3, 4});
  Check("permute", {x}, {{"axes", Index{2, 0, -2}}}, Transposed(x, {2, 0, 1}));
  EXPECT_THAT(Refusal("permute", {x}, {{"axes", Index{0, 1, 1}}}),
              HasSubstr("axis 1 is named twice"));
}
TEST(Function, swapaxes) {
  const Array x = Counting({2, 3, 4});
  Check("swapaxes", {x}, {}, Transposed(x, {0, 2, 1}));
  Check("swapaxes", {x}, {{"axis0", 0}}, Transposed(x, {2, 1, 0}));
}
TEST(Function, moveaxis) {
  const Array x = Counting({2, 3, 4});
  Check("moveaxis", {x}, {{"from", 0}, {"to", -1}}, Transposed(x, {1, 2, 0}));
  Check("moveaxis", {x}, {{"from", 2}, {"to", 0}}, Transposed(x, {2, 0, 1}));
}
TEST(Function, squeeze) {
  const Array x = Counting({1, 3, 1});
  Check("squeeze", {x}, {}, Reshaped(x, {3}));
  Check("squeeze", {x}, {{"axes", -1}}, Reshaped(x, {1, 3}));
  EXPECT_THAT(Refusal("squeeze", {x}, {{"axes", 1}}), HasSubstr("axis 1 of x has size 3, not 1"));
}
TEST(Function, unsqueeze) {
  const Array x = Counting({2, 3});
  Check("unsqueeze", {x}, {{"axes", Index{0, -1}}}, Reshaped(x, {1, 2, 3, 1}));
}
TEST(Function, flatten) {
  const Array x = Counting({2, 3, 4});
  Check("flatten", {x}, {}, Reshaped(x, {24}));
  Check("flatten", {x}, {{"first", 1}}, Reshaped(x, {2, 12}));
  Check("flatten", {Counting({})}, {}, Counting({1}));
}
TEST(Function, flip) {
  const Array x = Counting({2, 3});
  Check("flip", {x}, {{"axes", 1}},
        Of(x, {2, 3}, [](const Index& at) { return Index{at[0], 2 - at[1]}; }));
  Check("flip", {x}, {},
        Of(x, {2, 3}, [](const Index& at) { return Index{1 - at[0], 2 - at[1]}; }));
}
TEST(Function, concat) {
  const Array x = Counting({2, 3}), y = Numbers(kF32, {2, 1}), z = Zeros(kBool, {2, 0});
  Check("concat", {x, y, z}, {{"axis", 1}},
        Fill(kF32, {2, 4}, [&](const Index& at) { return at[1] < 3 ? x[at] : y[{at[0], 0}]; }));
  Check("concat", {x}, {{"axis", 0}}, x);
  EXPECT_THAT(Refusal("concat", {x, y}, {{"axis", 0}}),
              HasSubstr("xs: the shapes (2, 3) and (2, 1) do not fit"));
}
TEST(Function, stack) {
  const Array x = Counting({2, 3}), y = Numbers(kI32, {2, 3});
  Check("stack", {x, y}, {{"axis", -1}}, Fill(kI32, {2, 3, 2}, [&](const Index& at) {
          return at[2] == 0 ? x[{at[0], at[1]}] : y[{at[0], at[1]}];
        }));
}
TEST(Function, split) {
  const Array x = Counting({2, 5});
  const auto piece = [&x](int64_t begin, int64_t end) {
    return Of(x, {2, end - begin},
              [begin](const Index& at) { return Index{at[0], at[1] + begin}; });
  };
  Check("split", {x}, {{"sizes", 2}}, Arrays{piece(0, 2), piece(2, 4), piece(4, 5)});
  Check("split", {x}, {{"sizes", Index{1, 4}}}, Arrays{piece(0, 1), piece(1, 5)});
  EXPECT_THAT(Refusal("split", {x}, {{"sizes", Index{1, 3}}}),
              HasSubstr("they add up to 4, axis 1 has size 5"));
}
TEST(Function, tile) {
  const Array x = Counting({2, 3});
  Check("tile", {x}, {{"repeats", Index{2, 1, 2}}},
        Of(x, {2, 2, 6}, [](const Index& at) { return Index{at[1], at[2] % 3}; }));
  Check("tile", {x}, {{"repeats", 0}}, Zeros(kI32, {2, 0}));
}
TEST(Function, repeat_interleave) {
  const Array x = Counting({2, 3});
  Check("repeat_interleave", {x}, {{"repeats", 2}, {"axis", 0}},
        Of(x, {4, 3}, [](const Index& at) { return Index{at[0] / 2, at[1]}; }));
}
TEST(Function, select) {
  const Array x = Counting({2, 3});
  Check("select", {x}, {{"index", -1}, {"axis", 1}},
        Of(x, {2}, [](const Index& at) { return Index{at[0], 2}; }));
  EXPECT_THAT(Refusal("select", {x}, {{"index", 3}, {"axis", 1}}),
              HasSubstr("index: 3 given, axis 1 has size 3"));
}
TEST(Function, slice) {
  const Array x = Counting({3, 10});
  const struct {
    int64_t begin, end, step;
    Line want;  // Of 0 .. 9.
  } cases[] = {{2, 5, 1, {2, 3, 4}},     {0, 10, 3, {0, 3, 6, 9}},
               {-3, 99, 1, {7, 8, 9}},   {5, 2, 1, {}},
               {-99, 2, 1, {0, 1}},      {9, 5, -1, {9, 8, 7, 6}},
               {99, -99, -4, {9, 5, 1}}, {1, 9, 2, {1, 3, 5, 7}},
               {-1, -4, -2, {9, 7}}};
  for (const auto& c : cases) {
    const Array row = Of(x, {3, static_cast<int64_t>(c.want.size())}, [&](const Index& at) {
      return Index{at[0], static_cast<int64_t>(c.want[static_cast<size_t>(at[1])])};
    });
    Check("slice", {x}, {{"begin", c.begin}, {"end", c.end}, {"axes", 1}, {"step", c.step}}, row);
  }
  Check("slice", {x}, {{"begin", Index{1, 2}}, {"end", Index{2, 4}}},
        Of(x, {1, 2}, [](const Index& at) { return Index{1 + at[0], 2 + at[1]}; }));
  EXPECT_THAT(Refusal("slice", {x}, {{"begin", 0}, {"end", 1}, {"step", 0}}),
              HasSubstr("step: 0 given"));
}
TEST(Function, pad) {
  const Array x = Counting({2, 4});
  const auto padded = [&x](int64_t before, int64_t after,
                           const std::function<double(const Line&, int64_t)>& f) {
    return Lines(x, kI32, 1, [&](Line& v) {
      Line out;
      for (int64_t i = -before; i < 4 + after; ++i) out.push_back(f(v, i));
      v = out;
    });
  };
  const auto at = [](const Line& v, int64_t i) { return v[static_cast<size_t>(i)]; };
  Check("pad", {x}, {{"pads", Index{1, 2}}, {"value", 7}},
        padded(1, 2, [&](const Line& v, int64_t i) { return i < 0 || i > 3 ? 7 : at(v, i); }));
  Check("pad", {x}, {{"pads", Index{-1, 2}}},
        padded(-1, 2, [&](const Line& v, int64_t i) { return i > 3 ? 0 : at(v, i); }));
  Check("pad", {x}, {{"pads", Index{3, 2}}, {"mode", "reflect"}},
        padded(3, 2, [&](const Line& v, int64_t i) {
          return at(v, i < 0 ? -i : i > 3 ? 6 - i : i);
        }));
  Check(
      "pad", {x}, {{"pads", Index{3, 6}}, {"mode", "replicate"}},
      padded(3, 6, [&](const Line& v, int64_t i) { return at(v, std::clamp<int64_t>(i, 0, 3)); }));
  Check("pad", {x}, {{"pads", Index{3, 4}}, {"mode", "circular"}},
        padded(3, 4, [&](const Line& v, int64_t i) { return at(v, (i + 4) % 4); }));
  EXPECT_THAT(Refusal("pad", {x}, {{"pads", Index{4, 0}}, {"mode", "reflect"}}),
              HasSubstr("pads: 4 given, axis 1 of size 4 allows 3"));
  EXPECT_THAT(Refusal("pad", {x}, {{"pads", Index{1}}}),
              HasSubstr("it needs two for each of up to 2 axes"));
}
TEST(Function, roll) {
  const Array x = Counting({3, 4});
  Check("roll", {x}, {{"shifts", Index{1, -1}}, {"axes", Index{0, 1}}},
        Of(x, {3, 4}, [](const Index& at) { return Index{(at[0] + 2) % 3, (at[1] + 1) % 4}; }));
  Check("roll", {x}, {{"shifts", Index{9}}, {"axes", Index{-1}}},
        Of(x, {3, 4}, [](const Index& at) { return Index{at[0], (at[1] + 3) % 4}; }));
}
TEST(Function, triu) {
  const Array x = Counting({2, 3, 4});
  for (int64_t k : {-1, 0, 2}) {
    Check("triu", {x}, {{"offset", k}},
          Fill(kI32, x.shape, [&](const Index& at) { return at[2] - at[1] >= k ? x[at] : 0; }));
  }
}
TEST(Function, tril) {
  const Array x = Counting({2, 3, 4});
  for (int64_t k : {-1, 0, 2}) {
    Check("tril", {x}, {{"offset", k}},
          Fill(kI32, x.shape, [&](const Index& at) { return at[2] - at[1] <= k ? x[at] : 0; }));
  }
}
TEST(Function, meshgrid) {
  const Array x = Counting({2}), y = Numbers(kF32, {3});
  Check("meshgrid", {x, y}, {},
        Arrays{Of(x, {2, 3}, [](const Index& at) { return Index{at[0]}; }),
               Of(y, {2, 3}, [](const Index& at) { return Index{at[1]}; })});
  Check("meshgrid", {x, y}, {{"indexing", "xy"}},
        Arrays{Of(x, {3, 2}, [](const Index& at) { return Index{at[1]}; }),
               Of(y, {3, 2}, [](const Index& at) { return Index{at[0]}; })});
}
TEST(Function, sliding_window) {
  const Array x = Counting({2, 7});
  for (const auto& [size, step] :
       {std::pair<int64_t, int64_t>{3, 1}, {3, 2}, {2, 3}, {7, 1}, {1, 1}, {1, 4}}) {
    const int64_t n = (7 - size) / step + 1;
    Check("sliding_window", {x}, {{"size", size}, {"step", step}},
          Of(x, {2, n, size},
             [step](const Index& at) { return Index{at[0], at[1] * step + at[2]}; }));
  }
  Check("sliding_window", {x}, {{"size", 2}, {"axis", 0}},
        Of(x, {1, 7, 2}, [](const Index& at) { return Index{at[2], at[1]}; }));
  EXPECT_THAT(Refusal("sliding_window", {x}, {{"size", 8}}),
              HasSubstr("a window of 8 does not fit into an axis of size 7"));
}

}  // namespace
}  // namespace kiln::tensor::functions
