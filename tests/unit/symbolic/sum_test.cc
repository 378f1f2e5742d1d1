#include "core/symbolic/sum.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/render.h"
#include "core/uop/parse.h"
#include "core/uop/walk.h"

namespace kiln::symbolic {
namespace {

// The normal form of a text, or "" if it is in normal form.
std::string Normal(std::string_view text) {
  Graph g;
  Ref result = Normalize(g, *uop::Parse(g, text));
  return result != nullptr ? Render(result) : "";
}

TEST(Sum, AddsCoefficientsOfLikeTerms) {
  EXPECT_EQ(Normal("a[0,8] + b[0,8] + a*3"), "(b+(a*4))");
  EXPECT_EQ(Normal("a[0,8]*-4 + 1 + a*4"), "1");
  EXPECT_EQ(Normal("a[0,8]*2*3 + a*-5"), "a");
}

TEST(Sum, SortsTermsAndPutsTheConstantLast) {
  EXPECT_EQ(Normal("r0:4 + 2 + (b[0,8]*2 + (a[0,8] + 3))"), "(((a+(b*2))+ridx0)+5)");
  EXPECT_EQ(Normal("a[0,8] + b[0,8]*2 + 5"), "");
}

TEST(Sum, DoesNotDistribute) { EXPECT_EQ(Normal("(a[0,8] + b[0,8])*3 + c[0,8]"), "(c+((a+b)*3))"); }

TEST(Sum, LeavesFloatsAlone) { EXPECT_EQ(Normal("(b[0,8]:float32 + a[0,8]:float32) + b"), ""); }

TEST(Sum, WrapsCoefficientsOfFixedWidth) {
  EXPECT_EQ(Normal("a[0,255]:uint8*200 + a*100"), "(a*44)");
  EXPECT_EQ(Normal("a[0,255]:uint8*200 + a*56"), "0");
  EXPECT_EQ(Normal("a[0,9]:int8 + 100 + 100"), "(a+-56)");
}

TEST(Sum, RefusesWhatDoesNotFitIndex) {
  Graph g;
  Ref n = *uop::Parse(g, "a[0,8] + 9223372036854775807 + b[0,8] + 1");
  EXPECT_EQ(Normalize(g, n), nullptr);
  std::vector<Ref> operands;
  EXPECT_FALSE(NaryOperands(n, operands)) << "it would be offered again and again";
}

TEST(Sum, MarksEveryPrefix) {
  Graph g;
  Ref n = Normalize(g, *uop::Parse(g, "c[0,8] + (b[0,8] + a[0,8]) + 7"));
  for (; n->op == Op::kAdd; n = n->src(0)) {
    std::vector<Ref> operands;
    EXPECT_FALSE(NaryOperands(n, operands));
  }
}

TEST(Sum, RebuildsWithReplacedOperands) {
  Graph g;
  Ref n = *uop::Parse(g, "a[0,8]*2 + b[0,8] + a*2");
  std::vector<Ref> operands;
  ASSERT_TRUE(NaryOperands(n, operands));
  ASSERT_EQ(operands.size(), 2u);
  for (Ref& operand : operands) {
    if (operand->op == Op::kMul) operand = *uop::Parse(g, "c[0,8] + d[0,8]");
  }
  EXPECT_EQ(Render(RebuildNary(g, n, operands)), "((b+(c*2))+(d*2))");
}

TEST(Sum, TakesASharedSumApartOnce) {
  Graph g;
  Ref n = g.Variable("a", 0, 1);
  for (int i = 0; i < 62; ++i) n = g.Add(n, n);
  EXPECT_EQ(Render(Normalize(g, n)), "(a*4611686018427387904)");
  for (int i = 0; i < 200; ++i) n = g.Add(n, n);
  EXPECT_EQ(Normalize(g, n), nullptr);
  Ref m = g.Variable(DType::kUInt8, "m", Scalar::Int(0), Scalar::Int(9));
  for (int i = 0; i < 200; ++i) m = g.Add(m, m);
  EXPECT_EQ(Render(Normalize(g, m)), "0");
}

TEST(Sum, HasManyTerms) {
  Graph g;
  Ref n = g.Index(0);
  for (int i = 20000; i-- > 0;)
    n = g.Add(g.Mul(g.Variable("v" + std::to_string(i % 10000), 0, 9), g.Index(i + 2)), n);
  Ref result = Normalize(g, n);
  // Each of 10,000 variables has a product, its coefficient and a sum, but for one sum and shared constants.
  EXPECT_EQ(uop::CountNodes(result), 4 * 10000 - 1);
}

TEST(Recombine, QuotientAndRemainderAreTheWhole) {
  EXPECT_EQ(Normal("(g[0,99] % 4) + l[0,9] + (g / 4) * 4"), "(g+l)");
  EXPECT_EQ(Normal("(g[-99,99] % 4)*2 + (g / 4) * 8"), "(g*2)");
  EXPECT_EQ(Normal("(g[-99,99] % n[1,9]) + l[0,9] + (g / n) * n"), "(g+l)");
  EXPECT_EQ(Normal("(g[0,99] % 4)*3 + (g / 4) * 8"), "(((g//4)*8)+((g%4)*3))");
}

TEST(Recombine, NumeratorsMayDifferByMultiplesOfTheDivisor) {
  EXPECT_EQ(Normal("((b[0,9]*2) % 3)*6 + ((b*5) / 3)*18 + 1"), "((b*30)+1)");
  EXPECT_EQ(Normal("((b[-9,9]*2) % 3)*6 + ((b*5) / 3)*18 + 1"),
            "(((((b*5)//3)*18)+(((b*2)%3)*6))+1)")
      << "only in order: signs are open";
}

TEST(Recombine, NestedQuotients) {
  EXPECT_EQ(Normal("((x[-99,99] / 4) % 5)*4 + (x / 20)*20"), "((x//4)*4)");
  EXPECT_EQ(Normal("((x[-99,99] / 4) % 5)*4 + x % 4"), "(x%20)");
}

TEST(Recombine, UnrolledLoopOfQuotients) {
  EXPECT_EQ(Normal("(x[0,99] / 3)*2 + ((x + 1) / 3)*2 + ((x + 2) / 3)*2"), "(x*2)");
  EXPECT_EQ(Normal("(x[0,99] + 5) / 3 + (x + 6) / 3 + (x + 7) / 3 + y[0,9]"), "((x+y)+5)");
  EXPECT_EQ(Normal("(x[-1,99] / 3) + ((x + 1) / 3) + ((x + 2) / 3)"), "") << "truncates below 0";
  EXPECT_EQ(Normal("(x[0,99] / 3) + ((x + 2) / 3)"), "");
}

TEST(Recombine, UnrolledLoopWithConstantTurns) {
  EXPECT_EQ(Normal("(x[0,2] + 2) / 4 + (x + 3) / 4"), "x");
  EXPECT_EQ(Normal("(x[0,3] + 2) / 4 + (x + 3) / 4"), "");
  EXPECT_EQ(Normal("(x[5,6] + 2) / 4 + y[0,9]"), "((x+y)+-4)");
}

TEST(Recombine, SelectsThatLeaveAConstantBranch) {
  EXPECT_EQ(Normal("where(x[0,3] < 2, a[0,3], 0) + c[0,3] + where(x < 2, b[0,3], 1)"),
            "(c+((a+b) if (x<2) else 1))");
  EXPECT_EQ(Normal("where(x[0,3] < 2, a[0,3], 0) + where(x < 2, a, b[0,3])"),
            "((a if (x<2) else b)+(a if (x<2) else 0))");
}

TEST(Product, PutsTheConstantLast) {
  EXPECT_EQ(Normal("b[0,8] * 2 * (a[0,8] * 3)"), "((a*b)*6)");
  EXPECT_EQ(Normal("a[0,255]:uint8 * 16 * 16"), "0");
  EXPECT_EQ(Normal("a[0,8] * b[0,8] * 2"), "");
}

TEST(Product, OfSquaresIsLeftAlone) {
  Graph g;
  Ref n = g.Variable("a", 0, 1);
  for (int i = 0; i < 200; ++i) n = g.Mul(n, n);
  EXPECT_EQ(Normalize(g, n), nullptr);
}

TEST(Maximum, CombinesConstantsAndDropsWhatNeverWins) {
  EXPECT_EQ(Normal("max(max(a[0,20], 10), 11)"), "max(a, 11)");
  EXPECT_EQ(Normal("max(max(b[0,20], a[0,20]), b)"), "max(a, b)");
  EXPECT_EQ(Normal("max(max(a[0,20], b[20,30]), 7)"), "b");
}

TEST(Clauses, KeepTheirOrderAndStandOnce) {
  EXPECT_EQ(Normal("(s[0,9] < 6) & ((2 < s) & (s < 6))"), "((s<6)&(2<s))");
  EXPECT_EQ(Normal("(s[0,9] < 6) & ((2 < s) & true)"), "((s<6)&(2<s))");
  EXPECT_EQ(Normal("(2 < s[0,9]) & (s < 6)"), "");
}

TEST(Clauses, ContradictThemselves) {
  EXPECT_EQ(Normal("(s[0,9] < 6) & ((2 < s) & ((s < 6) != true))"), "False");
  EXPECT_EQ(Normal("(s[0,9] < 6) | ((2 < s) | ((s < 6) != true))"), "True");
}

TEST(Clauses, OfIntegersAreSorted) {
  EXPECT_EQ(Normal("(b[0,9]:int32 & 12) & (a[0,9]:int32 & 10)"), "((a&b)&8)");
  EXPECT_EQ(Normal("(b[0,9]:int32 | 12) | (a[0,9]:int32 | -1)"), "-1");
}

}  // namespace
}  // namespace kiln::symbolic
