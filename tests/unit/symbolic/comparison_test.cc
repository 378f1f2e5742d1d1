#include "core/symbolic/comparison.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/render.h"
#include "core/uop/parse.h"

namespace kiln::symbolic {
namespace {

// What one step makes of a comparison, or "" if it stays.
std::string Fold(std::string_view text) {
  Graph g;
  Ref result = FoldComparison(g, *uop::Parse(g, text));
  return result != nullptr ? Render(result) : "";
}

TEST(Comparison, ConstantByBounds) {
  EXPECT_EQ(Fold("a[3,8] < 9"), "True");
  EXPECT_EQ(Fold("a[3,8] < 3"), "False");
  EXPECT_EQ(Fold("a[3,8] < 8"), "");
  EXPECT_EQ(Fold("a[3,4] < b[5,6]"), "True");
  EXPECT_EQ(Fold("a[3,4] != b[5,6]"), "True");
  EXPECT_EQ(Fold("a[3,8] < a + 1"), "True");
  EXPECT_EQ(Fold("a[3,8]:int32 < a"), "False");
  EXPECT_EQ(Fold("a[3,8] != a"), "False");
}

TEST(Comparison, ConstantsMoveRight) {
  EXPECT_EQ(Fold("a[0,6] + 2 < 3"), "(a<1)");
  EXPECT_EQ(Fold("3 < a[0,6] + 2"), "(1<a)");
  EXPECT_EQ(Fold("a[0,6] + 2 != 3"), "(a!=1)");
  EXPECT_EQ(Fold("a[0,6] + 2 < b[0,6]"), "(a<(b+-2))");
}

TEST(Comparison, FactorsGo) {
  EXPECT_EQ(Fold("a[0,6]*6 + b[0,6]*4 < 4"), "(((a*3)+(b*2))<2)");
  EXPECT_EQ(Fold("a[0,5]*4 < 13"), "(a<4)");
  EXPECT_EQ(Fold("a[0,5]*-2 < 0"), "((a*-1)<0)");
  EXPECT_EQ(Fold("13 < a[0,5]*4"), "(3<a)");
  EXPECT_EQ(Fold("a[0,5]*4 != 13"), "True");
  EXPECT_EQ(Fold("a[0,5]*-4 != -12"), "(a!=3)");
  EXPECT_EQ(Fold("a[0,5]*4 < b[0,5]*6 + 3"), "((a*2)<((b*3)+2))");
}

TEST(Comparison, QuotientsOpen) {
  EXPECT_EQ(Fold("x[0,24] / 4 < 3"), "(x<12)");
  EXPECT_EQ(Fold("(x[0,24] + -20) / 4 < -3"), "(x<5)");
  EXPECT_EQ(Fold("(x[0,24] + -10) / 4 < 0"), "(x<7)");
  EXPECT_EQ(Fold("3 < x[0,24] / 4"), "(15<x)");
  EXPECT_EQ(Fold("-3 < x[-24,24] / 4"), "(-12<x)");
}

TEST(Comparison, SmallTermsGo) {
  EXPECT_EQ(Fold("a[0,1529]*12 + u[0,3] < 268"), "(a<23)");
  EXPECT_EQ(Fold("a[0,511]*4 + b[0,256] < 512"), "");
}

TEST(Comparison, AllAreZero) {
  EXPECT_EQ(Fold("a[0,3]*3 + b[0,3]*4 < 1"), "((a+b)<1)");
  EXPECT_EQ(Fold("0 < a[0,3]*3 + b[0,3]*4"), "(0<(a+b))");
  EXPECT_EQ(Fold("a[0,3]*3 + b[0,3]*4 != 0"), "((a+b)!=0)");
  EXPECT_EQ(Fold("a[0,3]*3 + b[-3,3]*4 < 1"), "");
}

TEST(Comparison, SharedTermsCancel) {
  EXPECT_EQ(Fold("a[0,3] + c[0,9] < b[0,3] + c"), "(a<b)");
  EXPECT_EQ(Fold("a[0,3]*3 + c[0,9] < b[0,3] + a"), "((c+(a*2))<b)");
  EXPECT_EQ(Fold("a[0,3]*-1 < b[0,3]*-1"), "(b<a)");
  EXPECT_EQ(Fold("a[0,3]*-1 != b[0,3]*-1 + 2"), "(a!=(b+-2))");
}

TEST(Comparison, FixedWidthsOnlyWhereNothingWraps) {
  EXPECT_EQ(Fold("a[0,9]:int32 + 2 < 3"), "(a<1)");
  EXPECT_EQ(Fold("a[0,127]:int8 + 2 < 3"), "");
  EXPECT_EQ(Fold("a[0,255]:uint8*2 < 4"), "");
}

}  // namespace
}  // namespace kiln::symbolic
