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
using ::testing::ElementsAre;

constexpr DType kF64 = DType::kFloat64;
constexpr double kInf = std::numeric_limits<double>::infinity();

// `op` of inputs 0, 1, .. of this shape.
BuildFn Elementwise(Op op, int operands, std::vector<Dim> dims = {3, 2}) {
  return [=](GraphBuilder& b) {
    std::vector<Source> src;
    for (int i = 0; i < operands; ++i) src.push_back(b.Input(i, kF64, dims));
    return b.Alu(op, src);
  };
}

absl::StatusOr<Value> Uniform(GraphBuilder& b, double v, int64_t size) {
  return b.Expand(b.Reshape(b.Const(kF64, Scalar::Float(v)), {1}), {size});
}

TEST(ElementwiseRules, AgreeWithDifferences) {
  for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kMax}) {
    EXPECT_TRUE(GradientsAreRight(Elementwise(op, 2), {.low = 0.3})) << uop::Name(op);
    EXPECT_TRUE(GradientsAreRight(Elementwise(op, 2), {.high = -0.3})) << uop::Name(op);
  }
  for (Op op : {Op::kNeg, Op::kExp2, Op::kSin}) {
    EXPECT_TRUE(GradientsAreRight(Elementwise(op, 1), {.order = 3})) << uop::Name(op);
  }
  for (Op op : {Op::kRecip, Op::kSqrt, Op::kLog2}) {
    EXPECT_TRUE(GradientsAreRight(Elementwise(op, 1), {.order = 3, .low = 0.5}));
  }
  EXPECT_TRUE(GradientsAreRight(Elementwise(Op::kRecip, 1), {.high = -0.5}));
  EXPECT_TRUE(GradientsAreRight(Elementwise(Op::kMulAcc, 3)));
  EXPECT_TRUE(GradientsAreRight(Elementwise(Op::kPow, 2), {.order = 3, .low = 0.5}));
}

TEST(ElementwiseRules, HoldForEveryShape) {
  for (const std::vector<Dim>& dims :
       std::vector<std::vector<Dim>>{{}, {1}, {0}, {1, 1}, {2, 0, 3}, {5}, {2, 1, 2, 2}}) {
    for (Op op : {Op::kMul, Op::kMax, Op::kPow}) {
      EXPECT_TRUE(GradientsAreRight(Elementwise(op, 2, dims), {.low = 0.5}));
    }
    EXPECT_TRUE(GradientsAreRight(Elementwise(Op::kSin, 1, dims)));
  }
  const BuildFn symbolic = [](GraphBuilder& b) {
    auto n = b.Variable("n", 0, 8);
    auto x = b.Input(0, kF64, {n, 2}), y = b.Input(1, kF64, {n, 2});
    return b.Alu(Op::kMulAcc, {x, b.Alu(Op::kSin, {y}), b.Alu(Op::kMul, {x, x})});
  };
  for (int64_t n : {0, 1, 3}) {
    EXPECT_TRUE(GradientsAreRight(symbolic, {.var_vals = {{"n", n}}}));
  }
}

TEST(ElementwiseRules, CosineIsRightFarFromZero) {
  const auto grads = GradientsAt(Elementwise(Op::kSin, 1, {3}), {{0, {1e6, -12345.678, 1e9}}});
  EXPECT_NEAR(grads[0][0], std::cos(1e6), 1e-15);
  EXPECT_NEAR(grads[0][1], std::cos(12345.678), 1e-15);
  EXPECT_NEAR(grads[0][2], std::cos(1e9), 1e-15);
}

TEST(ElementwiseRules, WhereTakesTheSideThatIsTaken) {
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {2, 3}), y = b.Input(1, kF64, {2, 3});
    auto p = b.Input(2, DType::kBool, {2, 3});
    return b.Alu(Op::kWhere, {p, b.Alu(Op::kSin, {x}), b.Alu(Op::kMul, {x, y})});
  };
  EXPECT_TRUE(GradientsAreRight(build));
}

TEST(ElementwiseRules, MaxSharesEquallyWhatIsEqual) {
  const auto grads =
      GradientsAt(Elementwise(Op::kMax, 2, {4}), {{0, {1, 2, 3, std::nan("")}}, {1, {2, 2, 2, 2}}});
  EXPECT_THAT(grads[0], ElementsAre(0, 0.5, 1, 0.5));
  EXPECT_THAT(grads[1], ElementsAre(1, 0.5, 0, 0.5));
}

TEST(ElementwiseRules, MaxOfOneWithItselfGetsAll) {
  const auto grads = GradientsAt(
      [](GraphBuilder& b) {
        auto x = b.Input(0, kF64, {2});
        return b.Alu(Op::kMax, {x, x});
      },
      {{0, {1, 2}}});
  EXPECT_THAT(grads[0], ElementsAre(1, 1));
}

TEST(ElementwiseRules, PowersOfAndToZero) {
  const auto grads = GradientsAt(Elementwise(Op::kPow, 2, {6}),
                                 {{0, {0, 0, 0, 3, -2, 0}}, {1, {2, 1, 0, 0, 3, 0.5}}});
  EXPECT_THAT(grads[0], ElementsAre(0, 1, 0, 0, 12, kInf));
  EXPECT_EQ(grads[1][0], 0);
  EXPECT_EQ(grads[1][1], 0);
  EXPECT_EQ(grads[1][2], 0);
  EXPECT_NEAR(grads[1][3], std::log(3.0), 1e-15);
  EXPECT_TRUE(std::isnan(grads[1][4]));  // The logarithm of -2.
  EXPECT_EQ(grads[1][5], 0);
}

TEST(ElementwiseRules, PowerToAConstantOfNegatives) {
  for (double to : {0.0, 1.0, 2.0, 3.0, -1.0, -2.0}) {
    const BuildFn build = [to](GraphBuilder& b) {
      return b.Alu(Op::kPow, {b.Input(0, kF64, {4}), Uniform(b, to, 4)});
    };
    EXPECT_TRUE(GradientsAreRight(build, {.order = 3, .high = -0.5})) << to;
    if (to >= 0) {
      EXPECT_TRUE(GradientsAreRight(build, {.order = 3, .values = {{0, {0, 1, -1, 0}}}})) << to;
    }
  }
}

TEST(ElementwiseRules, PowerOfAConstant) {
  const BuildFn build = [](GraphBuilder& b) {
    return b.Alu(Op::kPow, {Uniform(b, 3, 4), b.Input(0, kF64, {4})});
  };
  EXPECT_TRUE(GradientsAreRight(build, {.order = 3}));
}

TEST(ElementwiseRules, GoThroughCastsBetweenFloats) {
  const BuildFn exact = [](GraphBuilder& b) {
    auto x = b.Cast(b.Cast(b.Input(0, kF64, {2}), DType::kFloat32), DType::kBFloat16);
    return b.Cast(b.Alu(Op::kMul, {x, x}), kF64);
  };
  EXPECT_THAT(GradientsAt(exact, {{0, {1.5, -3}}})[0], ElementsAre(3, -6));
  const BuildFn through_integers = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {2});
    auto rounded = b.Cast(b.Cast(x, DType::kInt32), kF64);
    return b.Alu(Op::kMul, {x, rounded});
  };
  EXPECT_THAT(GradientsAt(through_integers, {{0, {1.5, -3}}})[0], ElementsAre(1, -3));
}

TEST(ElementwiseRules, NothingGoesThroughStepsAndBits) {
  const BuildFn steps = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {2});
    auto bits = b.Bitcast(b.Bitcast(x, DType::kInt64), kF64);
    auto step = b.Alu(Op::kTrunc, {x});
    auto sign = b.Alu(Op::kWhere, {b.Alu(Op::kCmpLt, {x, bits}), step, bits});
    return b.Alu(Op::kMul, {x, b.Alu(Op::kAdd, {sign, step})});
  };
  EXPECT_THAT(GradientsAt(steps, {{0, {1.5, -3}}})[0], ElementsAre(2.5, -6));
}

}  // namespace
}  // namespace kiln::tensor
