#include "tests/support/prove.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "tests/support/random_expr.h"
#include "tests/support/status_matchers.h"

namespace kiln::support {
namespace {

using ::testing::HasSubstr;

class ProveTest : public ::testing::Test {
 protected:
  Ref C(int64_t v) { return g_.Index(v); }
  Verdict Prove(Ref a, Ref b) { return ProveEqual(a, b).verdict; }

  Graph g_;
  const Ref x_ = g_.Variable("x", 0, 100);
  const Ref y_ = g_.Variable("y", -100, 100);
};

TEST_F(ProveTest, ProvesIdentitiesOfIndices) {
  const Ref sum = g_.Add(g_.Mul(g_.IDiv(x_, C(7)), C(7)), g_.Mod(x_, C(7)));
  EXPECT_EQ(Prove(sum, x_), Verdict::kProved);
  EXPECT_EQ(Prove(g_.IDiv(g_.Add(g_.Mul(x_, C(4)), C(3)), C(4)), x_), Verdict::kProved);
}

TEST_F(ProveTest, RefutesWithValues) {
  const Proof proof = ProveEqual(g_.Mod(x_, C(100)), x_);
  EXPECT_EQ(proof.verdict, Verdict::kCounterexample);
  EXPECT_EQ(proof.detail, "x = 100: 0 against 100");
}

TEST_F(ProveTest, UsesBounds) {
  EXPECT_EQ(Prove(g_.Lt(x_, C(101)), g_.Bool(true)), Verdict::kProved);
  EXPECT_EQ(Prove(g_.Lt(x_, C(100)), g_.Bool(true)), Verdict::kCounterexample);
  const Ref range = g_.Range(x_, 0), special = g_.Special("gidx0", C(8));
  EXPECT_EQ(Prove(g_.Lt(range, x_), g_.Bool(true)), Verdict::kProved);
  EXPECT_EQ(Prove(g_.IDiv(special, C(8)), C(0)), Verdict::kProved);
}

TEST_F(ProveTest, TruncatesDivision) {
  const Ref floor = g_.IDiv(g_.Add(y_, C(100)), C(3));
  EXPECT_EQ(Prove(g_.IDiv(g_.Neg(y_), C(3)), g_.Neg(g_.IDiv(y_, C(3)))), Verdict::kProved);
  EXPECT_EQ(Prove(g_.IDiv(y_, C(-3)), g_.Neg(g_.IDiv(y_, C(3)))), Verdict::kProved);
  EXPECT_EQ(Prove(g_.Mod(y_, C(-3)), g_.Mod(y_, C(3))), Verdict::kProved);
  EXPECT_EQ(Prove(g_.Sub(floor, C(33)), g_.IDiv(g_.Add(y_, C(1)), C(3))), Verdict::kCounterexample);
  EXPECT_EQ(Prove(g_.Lt(g_.Mod(y_, C(3)), C(0)), g_.Bool(false)), Verdict::kCounterexample);
}

TEST_F(ProveTest, AsksOnlyWhereTheFirstExpressionHasAValue) {
  EXPECT_EQ(Prove(g_.IDiv(y_, y_), C(1)), Verdict::kProved);
  const Proof proof = ProveEqual(C(1), g_.IDiv(y_, y_));
  EXPECT_EQ(proof.verdict, Verdict::kCounterexample);
  EXPECT_THAT(proof.detail, HasSubstr("against no value"));
  // The branch that is not taken need not have one.
  const Ref guarded = g_.Where(g_.Ne(y_, C(0)), g_.IDiv(y_, y_), C(1));
  EXPECT_EQ(Prove(C(1), guarded), Verdict::kProved);
}

TEST_F(ProveTest, KnowsBoolsAndSelection) {
  const Ref p = g_.Lt(x_, C(5)), q = g_.Lt(y_, C(5));
  EXPECT_EQ(Prove(g_.Not(g_.And(p, q)), g_.Or(g_.Not(p), g_.Not(q))), Verdict::kProved);
  EXPECT_EQ(Prove(g_.Where(p, x_, C(5)), g_.Neg(g_.Max(g_.Neg(x_), C(-5)))), Verdict::kProved);
  EXPECT_EQ(Prove(g_.Add(p, q), g_.Or(p, q)), Verdict::kProved);
}

TEST_F(ProveTest, WrapsMachineIntegers) {
  const Ref v = g_.Variable(DType::kInt32, "v", Scalar::Int(INT32_MIN), Scalar::Int(INT32_MAX));
  const Ref one = g_.Int(DType::kInt32, 1), two = g_.Int(DType::kInt32, 2);
  EXPECT_EQ(Prove(g_.Lt(v, g_.Add(v, one)), g_.Bool(true)), Verdict::kCounterexample);
  EXPECT_EQ(Prove(g_.Add(v, v), g_.Binary(Op::kShl, v, one)), Verdict::kProved);
  EXPECT_EQ(Prove(g_.IDiv(v, two), g_.Binary(Op::kShr, v, one)), Verdict::kCounterexample);
  EXPECT_EQ(Prove(g_.Cast(g_.Cast(v, DType::kInt64), DType::kInt32), v), Verdict::kProved);
}

TEST_F(ProveTest, NeverRefutesWhatItDoesNotSee) {
  const Ref f = g_.Variable(DType::kFloat32, "f", Scalar::Float(0), Scalar::Float(1));
  const Ref p = g_.Lt(f, g_.Const(DType::kFloat32, Scalar::Float(2)));
  EXPECT_EQ(Prove(g_.And(p, p), p), Verdict::kProved);
  EXPECT_EQ(Prove(p, g_.Bool(true)), Verdict::kUnknown);
  EXPECT_EQ(Prove(f, g_.Unary(Op::kNeg, f)), Verdict::kUnknown);
  EXPECT_EQ(Prove(x_, g_.Bool(true)), Verdict::kUnknown);
}

// The terms that Z3 gets mean what Evaluate computes.
TEST(RandomExpressions, AgreeWithEvaluation) {
  int proved = 0;
  for (int seed = 0; seed < 100; ++seed) {
    Graph g;
    RandomExpressions random(g, seed, {.depth = 3, .num_variables = 2, .num_ranges = 1});
    const Ref n = random.Index();
    const symbolic::Bindings values = random.Values();
    KILN_ASSERT_OK_AND_ASSIGN(const Scalar value, symbolic::Evaluate(g, n, values));
    // Pinned to the binding, the expression is the constant.
    Ref pinned = g.Bool(true);
    for (Ref leaf : random.leaves()) {
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar v, symbolic::Evaluate(g, leaf, values));
      pinned = g.And(pinned, g.Not(g.Ne(leaf, g.Index(v.AsInt()))));
    }
    const Ref constant = g.Index(value.AsInt());
    const Proof proof = ProveEqual(g.Where(pinned, n, constant), constant);
    EXPECT_NE(proof.verdict, Verdict::kCounterexample) << symbolic::Render(n) << "\n" << proof;
    const Proof wrong = ProveEqual(g.Where(pinned, n, constant), g.Index(value.AsInt() + 1));
    EXPECT_NE(wrong.verdict, Verdict::kProved) << symbolic::Render(n);
    proved += proof.verdict == Verdict::kProved ? 1 : 0;
  }
  EXPECT_GE(proved, 95);
}

TEST(RandomExpressions, AreTheSameForTheSameSeed) {
  Graph g;
  RandomExpressions one(g, 5), other(g, 5), different(g, 6);
  const Ref n = one.Index();
  EXPECT_EQ(n, other.Index());
  EXPECT_NE(n, different.Index());
  EXPECT_EQ(one.Values().variables, other.Values().variables);
}

}  // namespace
}  // namespace kiln::support
