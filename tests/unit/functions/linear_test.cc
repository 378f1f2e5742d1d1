#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/functions/function_testing.h"

namespace kiln::tensor::functions {
namespace {

using testing::HasSubstr;
constexpr DType kF16 = DType::kFloat16, kF32 = DType::kFloat32, kF64 = DType::kFloat64,
                kI32 = DType::kInt32;
const Tolerance kSum = {.ulps = 8, .scale = 16};

// [m, k] times [k, n].
double Entry(const Array& x, const Array& y, Index at, Index bt) {
  double sum = 0;
  const size_t i = at.size() - 1, k = bt.size() - 2;
  for (at[i] = bt[k] = 0; at[i] < x.shape[i]; ++at[i], ++bt[k]) sum += x[at] * y[bt];
  return sum;
}

TEST(Function, matmul) {
  for (DType d : {kF64, kF32, kF16, kI32}) {
    const Array x = Numbers(d, {3, 5}, -3, 3, 1), y = Numbers(d, {5, 4}, -3, 3, 2);
    Check("matmul", {x, y}, {},
          Fill(d, {3, 4}, [&](const Index& at) { return Entry(x, y, {at[0], 0}, {0, at[1]}); }),
          kSum);
    const Array v = Numbers(d, {5}, -3, 3, 3);
    const Array row = Reshaped(v, {1, 5}), column = Reshaped(v, {5, 1});
    Check("matmul", {v, y}, {},
          Fill(d, {4}, [&](const Index& at) { return Entry(row, y, {0, 0}, {0, at[0]}); }), kSum);
    Check("matmul", {x, v}, {},
          Fill(d, {3}, [&](const Index& at) { return Entry(x, column, {at[0], 0}, {0, 0}); }),
          kSum);
    Check("matmul", {v, v}, {},
          Fill(d, {}, [&](const Index&) { return Entry(row, column, {0, 0}, {0, 0}); }), kSum);
  }
  const Array x = Numbers(kF32, {2, 1, 3, 4}), y = Numbers(kF32, {5, 4, 2});
  Check("matmul", {x, y}, {},
        Fill(kF32, {2, 5, 3, 2},
             [&](const Index& at) { return Entry(x, y, {at[0], 0, at[2], 0}, {at[1], 0, at[3]}); }),
        kSum);
  Check("matmul", {Zeros(kF32, {3, 0}), Zeros(kF32, {0, 2})}, {}, Zeros(kF32, {3, 2}));
  EXPECT_THAT(Refusal("matmul", {x, x}, {}),
              HasSubstr("node 2 (call matmul), y: the shapes (2, 1, 3, 4) and (2, 1, 3, 4) can't"));
}
TEST(Function, linear) {
  const Array x = Numbers(kF32, {2, 3, 5}), w = Numbers(kF32, {4, 5}), b = Numbers(kF32, {4});
  const Array wt = Transposed(w, {1, 0});
  const auto y = [&](bool bias) {
    return Fill(kF32, {2, 3, 4}, [&, bias](const Index& at) {
      return Entry(x, wt, {at[0], at[1], 0}, {0, at[2]}) + (bias ? b[{at[2]}] : 0);
    });
  };
  Check("linear", {x, w, b}, {}, y(true), kSum);
  Check("linear", {x, w}, {}, y(false), kSum);
  EXPECT_THAT(Refusal("linear", {x, w, x}, {}),
              HasSubstr("bias: its shape (2, 3, 5) has 3 axes, it needs 1 axis"));
  EXPECT_THAT(Refusal("linear", {x, w, Zeros(kF32, {3})}, {}),
              HasSubstr("bias: its shape is (3), it must be (4)"));
}
TEST(Function, outer) {
  const Array x = Numbers(kF32, {3}), y = Numbers(kF32, {4});
  Check("outer", {x, y}, {},
        Fill(kF32, {3, 4}, [&](const Index& at) { return x[{at[0]}] * y[{at[1]}]; }));
}
TEST(Function, tensordot) {
  const Array x = Numbers(kF64, {2, 3, 4}), y = Numbers(kF64, {4, 5, 2});
  const Array want = Fill(kF64, {3, 5}, [&](const Index& at) {
    double sum = 0;
    ForEach({2, 4},
            [&](const Index& k) { sum += x[{k[0], at[0], k[1]}] * y[{k[1], at[1], k[0]}]; });
    return sum;
  });
  Check("tensordot", {x, y}, {{"x_axes", Index{0, -1}}, {"y_axes", Index{2, 0}}}, want, kSum);
  EXPECT_THAT(Refusal("tensordot", {x, y}, {{"x_axes", Index{1}}, {"y_axes", Index{1}}}),
              HasSubstr("different sizes"));
}
TEST(Function, einsum) {
  const Array x = Numbers(kF64, {3, 4}, -3, 3, 1), y = Numbers(kF64, {4, 5}, -3, 3, 2),
              s = Numbers(kF64, {4, 4}, -3, 3, 3);
  const Array product =
      Fill(kF64, {3, 5}, [&](const Index& at) { return Entry(x, y, {at[0], 0}, {0, at[1]}); });
  Check("einsum", {x, y}, {{"equation", "ij,jk->ik"}}, product, kSum);
  Check("einsum", {x, y}, {{"equation", "ij, jk"}}, product, kSum);
  Check("einsum", {x, y}, {{"equation", "ij,jk->ki"}}, Transposed(product, {1, 0}), kSum);
  Check("einsum", {x}, {{"equation", "ab->"}},
        Reduced(x, kF64, {}, false,
                [](const std::vector<double>& v) {
                  double sum = 0;
                  for (double e : v) sum += e;
                  return sum;
                }),
        kSum);
  Check("einsum", {s}, {{"equation", "ii->i"}},
        Fill(kF64, {4}, [&](const Index& at) { return s[{at[0], at[0]}]; }));
  Check("einsum", {x, y, s}, {{"equation", "ab,bc,bb->ac"}},
        Fill(kF64, {3, 5},
             [&](const Index& at) {
               double sum = 0;
               for (int64_t b = 0; b < 4; ++b) sum += x[{at[0], b}] * y[{b, at[1]}] * s[{b, b}];
               return sum;
             }),
        {.scale = 64});
  EXPECT_THAT(Refusal("einsum", {x, y}, {{"equation", "ij,ij->i"}}),
              HasSubstr("equation: label i has different sizes"));
  EXPECT_THAT(Refusal("einsum", {x}, {{"equation", "ij,jk->ik"}}), HasSubstr("2 operands"));
  EXPECT_THAT(Refusal("einsum", {x}, {{"equation", "ijk->i"}}), HasSubstr("3 labels"));
  EXPECT_THAT(Refusal("einsum", {x}, {{"equation", "ij->k"}}), HasSubstr("in no operand"));
}
TEST(Einsum, EllipsesAndRepeats) {
  const Array x = Numbers(kF64, {2, 3, 4}, -3, 3, 1), y = Numbers(kF64, {4, 5}, -3, 3, 2),
              b = Numbers(kF64, {3, 1, 2, 4}, -3, 3, 3), s = Numbers(kF64, {3, 3, 3}, -3, 3, 4);
  const Array product = Fill(
      kF64, {2, 3, 5}, [&](const Index& at) { return Entry(x, y, {at[0], at[1], 0}, {0, at[2]}); });
  Check("einsum", {x, y}, {{"equation", "...k,kn->...n"}}, product, kSum);
  Check("einsum", {x, y}, {{"equation", "...k,kn"}}, product, kSum);
  Check("einsum", {x, y}, {{"equation", "...k,kn->n..."}}, Transposed(product, {2, 0, 1}), kSum);
  // Ellipses of different lengths broadcast from the right.
  Check("einsum", {b, x}, {{"equation", "...ik,...jk->...ij"}},
        Fill(kF64, {3, 2, 2, 3},
             [&](const Index& at) {
               double sum = 0;
               for (int64_t k = 0; k < 4; ++k)
                 sum += b[{at[0], 0, at[2], k}] * x[{at[1], at[3], k}];
               return sum;
             }),
        kSum);
  Check("einsum", {s}, {{"equation", "iii"}},
        Of(kF64, {}, {s[{0, 0, 0}] + s[{1, 1, 1}] + s[{2, 2, 2}]}), kSum);
  Check("einsum", {s}, {{"equation", "...ii->...i"}},
        Fill(kF64, {3, 3}, [&](const Index& at) { return s[{at[0], at[1], at[1]}]; }));
  Check("einsum", {x}, {{"equation", "cab"}}, Transposed(x, {1, 2, 0}));
  Check("einsum", {x}, {{"equation", "...->"}},
        Reduced(x, kF64, {}, false,
                [](const std::vector<double>& v) {
                  double sum = 0;
                  for (double e : v) sum += e;
                  return sum;
                }),
        kSum);
  EXPECT_THAT(Refusal("einsum", {x}, {{"equation", "abcd...->a"}}), HasSubstr("has 4 labels"));
  EXPECT_THAT(Refusal("einsum", {x}, {{"equation", "a.b"}}), HasSubstr("'.' is no label"));
  EXPECT_THAT(Refusal("einsum", {x}, {{"equation", "abc->aa"}}), HasSubstr("twice in the result"));
}
TEST(Function, dot) {
  const Array x = Numbers(kF32, {2, 5}, -3, 3, 1), y = Numbers(kF32, {5}, -3, 3, 2);
  Check("dot", {x, y}, {},
        Fill(kF32, {2},
             [&](const Index& at) {
               double sum = 0;
               for (int64_t i = 0; i < 5; ++i) sum += x[{at[0], i}] * y[{i}];
               return sum;
             }),
        kSum);
}
TEST(Function, cross) {
  for (DType d : {kF64, kI32}) {
    const Array x = Numbers(d, {3, 4}, -3, 3, 1), y = Numbers(d, {3, 1}, -3, 3, 2);
    Check("cross", {x, y}, {{"axis", 0}},
          Fill(d, {3, 4},
               [&](const Index& at) {
                 const int64_t i = (at[0] + 1) % 3, k = (at[0] + 2) % 3;
                 return x[{i, at[1]}] * y[{k, 0}] - x[{k, at[1]}] * y[{i, 0}];
               }),
          kSum);
  }
  EXPECT_THAT(Refusal("cross", {Zeros(kF32, {4}), Zeros(kF32, {4})}, {}),
              HasSubstr("x: its axis 0 has size 4, it must be 3"));
}
TEST(Function, kron) {
  const Array x = Numbers(kI32, {2, 3}, -9, 9, 1), y = Numbers(kI32, {4, 2}, -9, 9, 2),
              v = Numbers(kI32, {3}, -9, 9, 3);
  Check("kron", {x, y}, {}, Fill(kI32, {8, 6}, [&](const Index& at) {
          return x[{at[0] / 4, at[1] / 2}] * y[{at[0] % 4, at[1] % 2}];
        }));
  Check("kron", {x, v}, {}, Fill(kI32, {2, 9}, [&](const Index& at) {
          return x[{at[0], at[1] / 3}] * v[{at[1] % 3}];
        }));
}
TEST(Function, trace) {
  const Array x = Numbers(kI32, {2, 3, 4}, -9, 9);
  for (int64_t offset : {-1, 0, 2}) {
    Check("trace", {x}, {{"offset", offset}}, Fill(kI32, {2}, [&](const Index& at) {
            double sum = 0;
            for (int64_t i = 0; i < 3; ++i) {
              if (i + offset >= 0 && i + offset < 4) sum += x[{at[0], i, i + offset}];
            }
            return sum;
          }));
  }
}
double Distance(const Array& x, const Index& a, const Array& y, const Index& b, double p,
                double eps) {
  double sum = 0, most = 0;
  Index i = a, k = b;
  for (i.back() = k.back() = 0; i.back() < x.shape.back(); ++i.back(), ++k.back()) {
    const double d = std::abs(x[i] - y[k] + eps);
    sum += p == 0 ? d != 0 : std::pow(d, p);
    most = std::max(most, d);
  }
  return std::isinf(p) ? most : p == 0 ? sum : std::pow(sum, 1 / p);
}
TEST(Function, pairwise_distance) {
  const Array x = Numbers(kF64, {4, 5}, -3, 3, 1), y = Numbers(kF64, {1, 5}, -3, 3, 2);
  for (double p : {0.0, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    Check("pairwise_distance", {x, y}, {{"p", p}},
          Fill(kF64, {4},
               [&](const Index& at) { return Distance(x, {at[0], 0}, y, {0, 0}, p, 1e-6); }),
          kSum);
  }
}
TEST(Function, cdist) {
  const Array x = Numbers(kF32, {2, 4, 3}, -3, 3, 1), y = Numbers(kF32, {5, 3}, -3, 3, 2);
  for (double p : {0.0, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    Check(
        "cdist", {x, y}, {{"p", p}},
        Fill(kF32, {2, 4, 5},
             [&](const Index& at) { return Distance(x, {at[0], at[1], 0}, y, {at[2], 0}, p, 0); }),
        kSum);
  }
  EXPECT_THAT(Refusal("cdist", {x, Zeros(kF32, {5, 4})}, {}), HasSubstr("does not fit x"));
}
TEST(Function, diagonal) {
  const Array x = Numbers(kI32, {3, 5});
  for (int64_t offset : {-4, -1, 0, 2, 9}) {
    const int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
    const int64_t n = std::max<int64_t>(0, std::min<int64_t>(3 - row, 5 - column));
    Check("diagonal", {x}, {{"offset", offset}},
          Fill(kI32, {n}, [&](const Index& at) { return x[{at[0] + row, at[0] + column}]; }));
  }
  const Array b = Numbers(kI32, {3, 2, 3});
  Check("diagonal", {b}, {{"axis1", 0}, {"axis2", -1}},
        Fill(kI32, {2, 3}, [&](const Index& at) { return b[{at[1], at[0], at[1]}]; }));
}

}  // namespace
}  // namespace kiln::tensor::functions
