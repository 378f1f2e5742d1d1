#include "core/symbolic/factor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "tests/support/prove.h"
#include "tests/support/random_expr.h"
#include "tests/support/status_matchers.h"

namespace kiln::symbolic {
namespace {

class FactorTest : public ::testing::Test {
 protected:
  Ref C(int64_t v) { return g_.Index(v); }

  Graph g_;
  const Ref x_ = g_.Variable("x", 10, 20);
  const Ref y_ = g_.Variable("y", -5, 5);
};
using ConstFactorTest = FactorTest;
using DivideTest = FactorTest;
using IsIncreasingTest = FactorTest;

TEST_F(ConstFactorTest, OfAConstantIsTheConstant) {
  EXPECT_EQ(ConstFactor(C(42)), 42);
  EXPECT_EQ(ConstFactor(C(-6)), -6);
  EXPECT_EQ(ConstFactor(C(0)), 0);
  EXPECT_EQ(ConstFactor(g_.Int(DType::kInt32, 17)), 17);
}

TEST_F(ConstFactorTest, OfASumIsTheGreatestCommonDivisor) {
  EXPECT_EQ(ConstFactor(g_.Add(g_.Mul(x_, C(3)), C(6))), 3);
  EXPECT_EQ(ConstFactor(g_.Add(g_.Mul(x_, C(-4)), C(6))), 2);
  EXPECT_EQ(ConstFactor(g_.Add(g_.Add(g_.Mul(x_, C(12)), g_.Mul(y_, C(18))), C(0))), 6);
  EXPECT_EQ(ConstFactor(g_.Add(x_, C(6))), 1);
}

TEST_F(ConstFactorTest, OfAProductIsItsConstants) {
  EXPECT_EQ(ConstFactor(g_.Mul(x_, C(3))), 3);
  EXPECT_EQ(ConstFactor(g_.Mul(g_.Mul(x_, C(3)), C(5))), 15);
  EXPECT_EQ(ConstFactor(g_.Mul(C(5), C(7))), 5);
  EXPECT_EQ(ConstFactor(g_.Mul(x_, y_)), 1);
}

TEST_F(ConstFactorTest, StopsBeforeTheProductLeavesInt64) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ(ConstFactor(g_.Mul(g_.Mul(x_, C(big)), C(big))), big);
}

TEST_F(ConstFactorTest, IsOneForEverythingElse) {
  EXPECT_EQ(ConstFactor(x_), 1);
  EXPECT_EQ(ConstFactor(g_.IDiv(x_, C(4))), 1);
  EXPECT_EQ(ConstFactor(g_.Special("gidx0", C(8))), 1);
}

TEST_F(ConstFactorTest, IsLinearInSharedSums) {
  Ref sum = g_.Mul(x_, C(6));
  for (int i = 0; i < 200; ++i) sum = g_.Add(sum, sum);
  EXPECT_EQ(ConstFactor(sum), 6);
}

TEST_F(DivideTest, DividesConstants) {
  EXPECT_EQ(Divide(g_, C(42), 7), C(6));
  EXPECT_EQ(Divide(g_, C(42), -7), C(-6));
  EXPECT_EQ(Divide(g_, C(42), 5), nullptr);
  EXPECT_EQ(Divide(g_, C(0), 5), C(0));
  EXPECT_EQ(Divide(g_, C(INT64_MIN), -1), nullptr);
}

TEST_F(DivideTest, DividesBothSidesOfASum) {
  EXPECT_EQ(Render(Divide(g_, g_.Add(g_.Mul(x_, C(6)), C(18)), 6)), "((x*1)+3)");
  EXPECT_EQ(Divide(g_, g_.Add(g_.Mul(x_, C(6)), C(19)), 6), nullptr);
  EXPECT_EQ(Divide(g_, g_.Add(x_, C(18)), 6), nullptr);
}

TEST_F(DivideTest, DividesOneSideOfAProduct) {
  EXPECT_EQ(Divide(g_, g_.Mul(x_, C(6)), 6), x_);
  EXPECT_EQ(Divide(g_, g_.Mul(x_, C(6)), 3), g_.Mul(x_, C(2)));
  EXPECT_EQ(Divide(g_, g_.Mul(x_, C(4)), 3), nullptr);
  EXPECT_EQ(Render(Divide(g_, g_.Mul(g_.Mul(x_, C(6)), y_), 2)), "((x*3)*y)");
}

TEST_F(DivideTest, ByOneIsTheNodeItself) { EXPECT_EQ(Divide(g_, x_, 1), x_); }

TEST_F(DivideTest, RefusesWhereMachineIntegersWrap) {
  const auto variable = [this](int64_t max) {
    return g_.Variable(DType::kInt8, "v", Scalar::Int(0), Scalar::Int(max));
  };
  const Ref six = g_.Int(DType::kInt8, 6);
  EXPECT_EQ(Divide(g_, g_.Mul(variable(21), six), 6), variable(21));
  EXPECT_EQ(Divide(g_, g_.Mul(variable(22), six), 6), nullptr);
  EXPECT_EQ(Divide(g_, g_.Mul(variable(22), six), 3), nullptr);
}

TEST_F(DivideTest, IsLinearInSharedOperands) {
  Ref even = g_.Mul(x_, C(2)), odd = g_.Add(x_, C(1));
  for (int i = 0; i < 50; ++i) {
    even = g_.Add(even, even);
    odd = g_.Mul(odd, odd);
  }
  EXPECT_NE(Divide(g_, even, 2), nullptr);
  EXPECT_EQ(Divide(g_, odd, 2), nullptr);
}

TEST_F(DivideTest, IsExactOnRandomExpressions) {
  int divided = 0;
  for (int seed = 0; seed < 500; ++seed) {
    Graph g;
    support::RandomExpressions random(g, seed);
    const Ref n = g.Mul(random.Index(), g.Index(6));
    const Ref sum = g.Add(g.Mul(random.Index(), g.Index(4)), n);
    const int64_t factor = ConstFactor(sum);
    const Ref quotient = Divide(g, sum, 2);
    ASSERT_NE(quotient, nullptr) << Render(sum);
    for (int i = 0; i < 10; ++i) {
      const Bindings values = random.Values();
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar value, Evaluate(g, sum, values));
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar half, Evaluate(g, quotient, values));
      EXPECT_EQ(half.AsInt() * 2, value.AsInt());
      EXPECT_EQ(factor == 0 ? value.AsInt() : value.AsInt() % factor, 0) << Render(sum);
      ++divided;
    }
  }
  EXPECT_EQ(divided, 5000);
}

TEST(Gcd, IsNeverNegative) {
  EXPECT_EQ(Gcd(12, -18), 6);
  EXPECT_EQ(Gcd(0, -5), 5);
  EXPECT_EQ(Gcd(0, 0), 0);
  EXPECT_EQ(Gcd(INT64_MIN, 6), 2);
  EXPECT_EQ(Gcd(INT64_MIN, 0), 1);
}

TEST_F(IsIncreasingTest, HoldsForSumsWithNonNegativeCoefficients) {
  const Ref range = g_.Range(8, 0), special = g_.Special("gidx0", C(8));
  const Ref sum = g_.Add(g_.Add(g_.Mul(x_, C(3)), g_.IDiv(range, C(2))), g_.Add(special, C(-7)));
  EXPECT_TRUE(IsIncreasing(sum));
  EXPECT_TRUE(IsIncreasing(g_.IDiv(g_.Mul(sum, C(0)), C(5))));
}

TEST_F(IsIncreasingTest, DoesNotHoldForOtherThings) {
  EXPECT_FALSE(IsIncreasing(g_.Neg(x_)));
  EXPECT_FALSE(IsIncreasing(g_.Mod(x_, C(3))));
  EXPECT_FALSE(IsIncreasing(g_.IDiv(x_, C(-3))));
  EXPECT_FALSE(IsIncreasing(g_.IDiv(x_, C(0))));
  EXPECT_FALSE(IsIncreasing(g_.Mul(x_, y_)));
  EXPECT_FALSE(IsIncreasing(g_.IDiv(C(100), x_)));
  EXPECT_FALSE(IsIncreasing(g_.Add(x_, g_.Neg(y_))));
}

}  // namespace
}  // namespace kiln::symbolic
