#include "core/symbolic/render.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kiln::symbolic {
namespace {

class RenderTest : public ::testing::Test {
 protected:
  std::string Float(double v) { return RenderScalar(Scalar::Float(v), DType::kFloat64); }

  Graph g_;
  const Ref a_ = g_.Variable("a", 0, 9);
  const Ref b_ = g_.Variable("b", 0, 9);
  const Ref p_ = g_.Lt(a_, b_);
};

TEST_F(RenderTest, WritesLeavesByName) {
  EXPECT_EQ(Render(a_), "a");
  EXPECT_EQ(Render(g_.Make(Op::kBind, DType::kIndex, {a_, g_.Index(3)})), "a");
  EXPECT_EQ(Render(g_.Special("gidx0", a_)), "gidx0");
  EXPECT_EQ(Render(g_.Range(8, 3)), "ridx3");
  EXPECT_EQ(Render(g_.Range(8, -3)), "ridxm3");
  EXPECT_EQ(Render(g_.Range(8, std::numeric_limits<int32_t>::min())), "ridxm2147483648");
}

TEST_F(RenderTest, WritesConstants) {
  EXPECT_EQ(Render(g_.Index(-3)), "-3");
  EXPECT_EQ(Render(g_.Int(DType::kUInt64, -1)), "18446744073709551615");
  EXPECT_EQ(Render(g_.Bool(true)), "True");
  EXPECT_EQ(Render(g_.Bool(false)), "False");
  EXPECT_EQ(Render(g_.Const(DType::kFloat32, Scalar::Float(0.5))), "0.5");
  EXPECT_EQ(Render(g_.Make(Op::kStack, DType::kIndex, {g_.Index(1), g_.Index(-2), g_.Index(3)})),
            "(1, -2, 3)");
}

TEST_F(RenderTest, WritesFloatsShortest) {
  EXPECT_EQ(Float(1), "1.0");
  EXPECT_EQ(Float(-0.0), "-0.0");
  EXPECT_EQ(Float(0.1), "0.1");
  EXPECT_EQ(Float(100000), "100000.0");
  EXPECT_EQ(Float(1234567890123456.0), "1234567890123456.0");
  EXPECT_EQ(Float(1e16), "1e+16");
  EXPECT_EQ(Float(1.5e300), "1.5e+300");
  EXPECT_EQ(Float(0.0001), "0.0001");
  EXPECT_EQ(Float(0.00001), "1e-05");
  EXPECT_EQ(Float(5e-324), "5e-324");
  EXPECT_EQ(Float(INFINITY), "inf");
  EXPECT_EQ(Float(-INFINITY), "-inf");
  EXPECT_EQ(Float(NAN), "nan");
}

TEST_F(RenderTest, ParenthesisesBinaryOps) {
  EXPECT_EQ(Render(g_.Add(a_, g_.Mul(b_, g_.Index(-2)))), "(a+(b*-2))");
  EXPECT_EQ(Render(g_.IDiv(g_.Mod(a_, b_), a_)), "((a%b)//a)");
  EXPECT_EQ(Render(g_.Binary(Op::kSub, a_, b_)), "(a-b)");
  EXPECT_EQ(Render(g_.Not(p_)), "((a<b)!=True)");
  EXPECT_EQ(Render(g_.And(p_, g_.Or(p_, p_))), "((a<b)&((a<b)|(a<b)))");
  EXPECT_EQ(Render(g_.Binary(Op::kXor, a_, b_)), "(a^b)");
  EXPECT_EQ(Render(g_.Binary(Op::kShl, a_, g_.Binary(Op::kShr, a_, b_))), "(a<<(a>>b))");
}

TEST_F(RenderTest, WritesOtherNotations) {
  EXPECT_EQ(Render(g_.Max(a_, g_.Index(11))), "max(a, 11)");
  EXPECT_EQ(Render(g_.Where(p_, a_, b_)), "(a if (a<b) else b)");
  EXPECT_EQ(Render(g_.Make(Op::kMulAcc, DType::kIndex, {a_, b_, a_})), "(a*b+a)");
  EXPECT_EQ(Render(g_.Unary(Op::kNeg, a_)), "(-a)");
  EXPECT_EQ(Render(g_.Unary(Op::kRecip, a_)), "(1/a)");
  EXPECT_EQ(Render(g_.Cast(g_.Cast(a_, DType::kUInt8), DType::kFloat16)), "(half)((uchar)(a))");
  EXPECT_EQ(Render(g_.Cast(a_, DType::kInt64)), "(long)(a)");
}

TEST_F(RenderTest, WritesOpsWithoutNotationAsCalls) {
  EXPECT_EQ(Render(g_.Unary(Op::kSin, a_)), "sin(a)");
  EXPECT_EQ(Render(g_.Binary(Op::kCmpEq, a_, b_)), "cmpeq(a, b)");
  EXPECT_EQ(Render(g_.Make(Op::kUnstack, DType::kIndex,
                           {g_.Make(Op::kStack, DType::kIndex, {a_, b_})}, Arg::Int(1))),
            "unstack(stack(a, b), 1)");
  EXPECT_EQ(Render(g_.Make(Op::kBarrier, DType::kVoid, {})), "barrier()");
}

TEST_F(RenderTest, IsBounded) {
  Ref n = a_;
  for (int i = 0; i < 100; ++i) n = g_.Add(n, n);
  const std::string text = Render(n, 1000);
  EXPECT_EQ(text.size(), 1003u);
  EXPECT_EQ(text.substr(0, 3), "(((");
  EXPECT_EQ(text.substr(1000), "...");
  EXPECT_EQ(Render(g_.Add(a_, b_), 5), "(a+b)");
  EXPECT_EQ(Render(g_.Add(a_, b_), 4), "(a+b...");
}

TEST_F(RenderTest, WritesDeepGraphs) {
  Ref n = a_;
  for (int i = 0; i < 1'000'000; ++i) n = g_.Unary(Op::kNeg, n);
  EXPECT_EQ(Render(n, 10'000'000).size(), 3'000'001u);
}

}  // namespace
}  // namespace kiln::symbolic
