#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/unit/gradient/gradient_check.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::BuildFn;
using ::kiln::support::GradientsAreRight;
using ::kiln::support::GradientsAt;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr DType kF64 = DType::kFloat64;

// Something that is not linear, so that second derivatives are not zero.
absl::StatusOr<Value> Cubed(GraphBuilder& b, const Source& x) {
  return b.Alu(Op::kMul, {x, b.Alu(Op::kMul, {x, x})});
}

BuildFn Of(std::vector<Dim> dims,
           std::function<absl::StatusOr<Value>(GraphBuilder&, const Source&)> then) {
  return [=](GraphBuilder& b) { return Cubed(b, then(b, Cubed(b, b.Input(0, kF64, dims)))); };
}

// ** movement **

TEST(TensorRules, UndoMovement) {
  EXPECT_TRUE(GradientsAreRight(
      Of({2, 3}, [](GraphBuilder& b, const Source& x) { return b.Reshape(x, {3, 1, 2}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({2, 1, 1}, [](GraphBuilder& b, const Source& x) { return b.Expand(x, {2, 3, 1}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({2, 3, 4}, [](GraphBuilder& b, const Source& x) { return b.Permute(x, {1, 2, 0}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({2, 3}, [](GraphBuilder& b, const Source& x) { return b.Flip(x, {1}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({2, 3}, [](GraphBuilder& b, const Source& x) { return b.Pad(x, {1, 0, 2, 3}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({4, 3}, [](GraphBuilder& b, const Source& x) { return b.Shrink(x, {1, 3, 0, 2}); })));
}

TEST(TensorRules, UndoMovementOfScalarsAndOfNothing) {
  EXPECT_TRUE(GradientsAreRight(
      Of({}, [](GraphBuilder& b, const Source& x) { return b.Reshape(x, {1, 1}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({1, 1}, [](GraphBuilder& b, const Source& x) { return b.Reshape(x, {}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({1}, [](GraphBuilder& b, const Source& x) { return b.Expand(x, {0}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({0, 3}, [](GraphBuilder& b, const Source& x) { return b.Pad(x, {1, 1, 0, 0}); })));
  EXPECT_TRUE(GradientsAreRight(
      Of({2, 3}, [](GraphBuilder& b, const Source& x) { return b.Shrink(x, {1, 1, 0, 3}); })));
}

TEST(TensorRules, UndoMovementOfSymbolicSizes) {
  const BuildFn build = [](GraphBuilder& b) {
    auto n = b.Variable("n", 1, 6), m = b.Variable("m", 0, 5);
    auto x = Cubed(b, b.Input(0, kF64, {n, 1, 4}));
    auto wide = b.Expand(x, {n, b.Alu(Op::kAdd, {m, b.Index(1)}), 4});
    auto flat = b.Flip(b.Reshape(b.Permute(wide, {1, 0, 2}), {b.Alu(Op::kAdd, {m, b.Index(1)}),
                                                              b.Alu(Op::kMul, {n, b.Index(4)})}),
                       {1});
    auto padded = b.Pad(flat, {m, 2, n, m});
    auto end = b.Alu(Op::kAdd, {n, b.Index(1)});
    return Cubed(b, b.Shrink(padded, {m, b.Alu(Op::kAdd, {m, b.Index(1)}), 1, end}));
  };
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {2, 3}, {5, 1}}) {
    EXPECT_TRUE(GradientsAreRight(build, {.var_vals = {{"n", n}, {"m", m}}})) << n << " " << m;
  }
}

// ** reductions **

TEST(TensorRules, ReductionsAgreeWithDifferences) {
  for (Op by : {Op::kAdd, Op::kMul, Op::kMax}) {
    for (const std::vector<int64_t>& axes :
         std::vector<std::vector<int64_t>>{{0}, {1}, {0, 2}, {0, 1, 2}}) {
      EXPECT_TRUE(GradientsAreRight(Of({2, 3, 2}, [=](GraphBuilder& b, const Source& x) {
        return b.Reduce(by, x, axes);
      }))) << uop::Name(by);
    }
    EXPECT_TRUE(GradientsAreRight(
        Of({3, 0}, [=](GraphBuilder& b, const Source& x) { return b.Reduce(by, x, {1}); })));
    EXPECT_TRUE(GradientsAreRight(
        Of({1, 2}, [=](GraphBuilder& b, const Source& x) { return b.Reduce(by, x, {0}); })));
  }
}

TEST(TensorRules, ReductionsOfSymbolicSizes) {
  for (Op by : {Op::kAdd, Op::kMul, Op::kMax}) {
    const BuildFn build = [by](GraphBuilder& b) {
      auto n = b.Variable("n", 0, 6);
      return Cubed(b, b.Reduce(by, b.Input(0, kF64, {2, n}), {1}));
    };
    for (int64_t n : {0, 1, 4}) {
      EXPECT_TRUE(GradientsAreRight(build, {.low = 0.5, .var_vals = {{"n", n}}}));
    }
  }
}

BuildFn Reduction(Op by, std::vector<Dim> dims, std::vector<int64_t> axes) {
  return [=](GraphBuilder& b) { return b.Reduce(by, b.Input(0, kF64, dims), axes); };
}

TEST(TensorRules, MaximaShareEqually) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto grads = GradientsAt(Reduction(Op::kMax, {4, 4}, {1}), {{0,
                                                                     {1, 3, 3, 2,              //
                                                                      -inf, -inf, -inf, -inf,  //
                                                                      1, inf, 2, 3,            //
                                                                      1, nan, 2, 3}}});
  EXPECT_THAT(grads[0], ElementsAre(0, 0.5, 0.5, 0,          //
                                    0.25, 0.25, 0.25, 0.25,  //
                                    0, 1, 0, 0,              //
                                    0.25, 0.25, 0.25, 0.25));
}

TEST(TensorRules, ProductsWithZeros) {
  const auto grads = GradientsAt(Reduction(Op::kMul, {3, 3}, {1}), {{0,
                                                                     {2, 3, 4,  //
                                                                      2, 0, 4,  //
                                                                      0, 3, -0.0}}});
  EXPECT_THAT(grads[0], ElementsAre(12, 8, 6,  //
                                    0, 8, 0,   //
                                    0, 0, 0));
}

TEST(TensorRules, ProductsWithZerosHaveSecondDerivatives) {
  for (const std::vector<double>& row : std::vector<std::vector<double>>{
           {2, 3, 4, 5}, {2, 0, 4, 5}, {0, 3, 0, 5}, {0, 0, 0, 5}, {0, 0, 0, 0}}) {
    EXPECT_TRUE(GradientsAreRight(Reduction(Op::kMul, {4}, {0}), {.values = {{0, row}}}));
  }
}

TEST(TensorRules, ShortProductsHaveDerivativesOfAnyOrder) {
  for (const std::vector<double>& row : std::vector<std::vector<double>>{
           {2, 0, 3, 4}, {0, 0, 3, 4}, {0, 0, 0, 4}, {0, 0, 0, 0}, {2, 3, 4, 5}}) {
    EXPECT_TRUE(
        GradientsAreRight(Reduction(Op::kMul, {4}, {0}), {.order = 4, .values = {{0, row}}}));
    EXPECT_TRUE(
        GradientsAreRight(Reduction(Op::kMul, {2, 2}, {0, 1}), {.order = 3, .values = {{0, row}}}));
  }
}

// Of more than 16 elements.
TEST(TensorRules, LongProducts) {
  std::vector<double> row(18, 1.1);
  EXPECT_TRUE(GradientsAreRight(Reduction(Op::kMul, {2, 18}, {1}), {.low = 0.5}));
  row[3] = 0;
  EXPECT_TRUE(
      GradientsAreRight(Reduction(Op::kMul, {18}, {0}), {.order = 2, .values = {{0, row}}}));
  row[7] = 0;
  EXPECT_TRUE(
      GradientsAreRight(Reduction(Op::kMul, {18}, {0}), {.order = 2, .values = {{0, row}}}));
  row[9] = 0;
  EXPECT_TRUE(
      GradientsAreRight(Reduction(Op::kMul, {18}, {0}), {.order = 2, .values = {{0, row}}}));
}

TEST(TensorRules, NarrowSumsAreAccumulatedInFloat32) {
  // 3000 ones: bfloat16 alone does not get beyond 256.
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Cast(b.Input(0, kF64, {1}), DType::kBFloat16);
    auto y = b.Cast(b.Input(1, kF64, {4096}), DType::kBFloat16);
    return b.Cast(b.Alu(Op::kMul, {b.Expand(x, {4096}), y}), kF64);
  };
  const auto grads = GradientsAt(build, {{0, {1}}, {1, std::vector<double>(4096, 1.0)}});
  EXPECT_THAT(grads[0], ElementsAre(4096));
  EXPECT_THAT(grads[1], Each(1));
}

// ** together **

TEST(TensorRules, MatrixProducts) {
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {2, 3}), w = b.Input(1, kF64, {3, 2});
    auto left = b.Expand(b.Reshape(x, {2, 3, 1}), {2, 3, 2});
    auto right = b.Expand(b.Reshape(w, {1, 3, 2}), {2, 3, 2});
    return Cubed(b, b.Reduce(Op::kAdd, b.Alu(Op::kMul, {left, right}), {1}));
  };
  EXPECT_TRUE(GradientsAreRight(build));
}

TEST(TensorRules, GatherAsAMaskedSum) {
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {5}), at = b.Input(1, DType::kInt32, {4});
    auto position = b.Iota(DType::kInt32, {4, 5}, 1);
    auto mask = b.Alu(Op::kCmpEq, {position, b.Expand(b.Reshape(at, {4, 1}), {4, 5})});
    auto all = b.Expand(b.Reshape(Cubed(b, x), {1, 5}), {4, 5});
    auto zero = b.Expand(b.Reshape(b.Const(kF64, Scalar::Float(0)), {1, 1}), {4, 5});
    return Cubed(b, b.Reduce(Op::kAdd, b.Alu(Op::kWhere, {mask, all, zero}), {1}));
  };
  EXPECT_TRUE(GradientsAreRight(build));
}

TEST(TensorRules, SoftmaxOfMax) {
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {2, 4});
    auto top = b.Expand(b.Reduce(Op::kMax, x, {1}), {2, 4});
    auto e = b.Alu(Op::kExp2, {b.Alu(Op::kSub, {x, top})});
    auto sum = b.Expand(b.Reduce(Op::kAdd, e, {1}), {2, 4});
    return b.Alu(Op::kFDiv, {e, sum});
  };
  EXPECT_TRUE(GradientsAreRight(build));
}

TEST(TensorRules, ContiguousAndCopiesPass) {
  EXPECT_TRUE(GradientsAreRight(Of(
      {2, 3}, [](GraphBuilder& b, const Source& x) { return b.Contiguous(b.Copy(x, "CPU:1")); })));
}

TEST(TensorRules, ShardsPass) {
  const std::vector<std::string> devices = {"CPU:0", "CPU:1"};
  for (const std::optional<int64_t> axis : {std::optional<int64_t>(0), std::optional<int64_t>()}) {
    const BuildFn build = [=](GraphBuilder& b) {
      auto x = b.Shard(b.Input(0, kF64, {4, 3}), devices, axis);
      auto w = b.Shard(b.Input(1, kF64, {1, 3}), devices, std::nullopt);
      auto product = b.Alu(Op::kMul, {x, b.Expand(w, {4, 3})});
      auto sum = b.Reduce(Op::kAdd, Cubed(b, product), {0, 1});
      return b.Alu(Op::kAdd, {b.Unshard(b.Expand(sum, {4, 3})), b.Unshard(Cubed(b, x))});
    };
    EXPECT_TRUE(GradientsAreRight(build));
  }
}

TEST(TensorRules, AllReducesPass) {
  const std::vector<std::string> devices = {"CPU:0", "CPU:1"};
  for (Op by : {Op::kAdd, Op::kMul, Op::kMax}) {
    for (const std::optional<int64_t> axis :
         {std::optional<int64_t>(0), std::optional<int64_t>()}) {
      const BuildFn build = [=](GraphBuilder& b) {
        auto x = b.Shard(b.Input(0, kF64, {4, 3}), devices, axis);
        return b.Unshard(Cubed(b, b.AllReduce(by, Cubed(b, x))));
      };
      EXPECT_TRUE(GradientsAreRight(build, {.order = 2, .high = 1})) << uop::Name(by);
    }
  }
}

TEST(TensorRules, AllReducesShareTiesAndCountZeros) {
  const auto build = [](Op by) -> BuildFn {
    return [by](GraphBuilder& b) {
      auto x = b.Shard(b.Input(0, kF64, {6}), {"CPU:0", "CPU:1"}, 0);
      return b.Unshard(b.AllReduce(by, x));
    };
  };
  // Both pieces of the result are the maximum (product), so that each counts twice.
  EXPECT_THAT(GradientsAt(build(Op::kMax), {{0, {1, 5, 3, 2, 5, 0}}})[0],
              ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_THAT(GradientsAt(build(Op::kMul), {{0, {0, 5, 0, 2, 3, 0}}})[0],
              ElementsAre(4, 6, 0, 0, 10, 0));
}

}  // namespace
}  // namespace kiln::tensor
