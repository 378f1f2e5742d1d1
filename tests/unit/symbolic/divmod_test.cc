#include "core/symbolic/divmod.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/render.h"
#include "core/uop/parse.h"

namespace kiln::symbolic {
namespace {

// What one step makes of a quotient or remainder, or "" if it stays.
std::string Fold(std::string_view text) {
  Graph g;
  Ref result = FoldDivMod(g, *uop::Parse(g, text));
  return result != nullptr ? Render(result) : "";
}

TEST(DivMod, ConstantByBounds) {
  EXPECT_EQ(Fold("(a[0,7] + 8) / 16"), "0");
  EXPECT_EQ(Fold("(a[0,2] + -12) / 8"), "-1");
  EXPECT_EQ(Fold("x[20,23] / y[8,10]"), "2");
  EXPECT_EQ(Fold("a[0,7] % 20"), "a");
  EXPECT_EQ(Fold("a[10,11] % 4"), "(a+-8)");
  EXPECT_EQ(Fold("a[-5,5] / 6"), "0");
}

TEST(DivMod, SignsMoveOut) {
  EXPECT_EQ(Fold("a[-9,9] / -2"), "((a//2)*-1)");
  EXPECT_EQ(Fold("a[-9,9] % -2"), "(a%2)");
  EXPECT_EQ(Fold("a[-20,0] % 10"), "(((a*-1)%10)*-1)");
  EXPECT_EQ(Fold("a[-20,0] / y[3,5]"), "(((a*-1)//y)*-1)");
  EXPECT_EQ(Fold("a[-9,9] / y[-5,-3]"), "((a//(y*-1))*-1)");
  EXPECT_EQ(Fold("a[-20,1] % 10"), "");
}

TEST(DivMod, TwoValuesAreALine) {
  EXPECT_EQ(Fold("(a[0,1] + 3) % 4"), "((a*-3)+3)");
  EXPECT_EQ(Fold("(a[4,5] + 3) % 4"), "((a*-3)+15)");
  EXPECT_EQ(Fold("(a[-1,0]*7 + 3) / 4"), "a");
}

TEST(DivMod, Congruence) {
  EXPECT_EQ(Fold("(a[0,3]*3 + 3) / 4"), "a");
  EXPECT_EQ(Fold("(x[0,3]*19 + y[0,2]*18 + 9) / 10"), "((x*2)+(y*2))");
  EXPECT_EQ(Fold("(x[0,2]*9 + y[0,2]*9 + z[0,2] + 7) % 10"), "(((z+(x*-1))+(y*-1))+7)");
  EXPECT_EQ(Fold("(a[0,20]*10) % 9"), "(a%9)");
}

TEST(DivMod, CommonDivisors) {
  EXPECT_EQ(Fold("(a[0,10]*-4 + 4) / 8"), "(((a*-1)+1)//2)");
  EXPECT_EQ(Fold("(a[0,10]*-4 + 4) % 8"), "((((a*-1)+1)%2)*4)");
  EXPECT_EQ(Fold("(a[0,7]*4 + b[0,3]*4 + 7) / 16"), "(((a+b)+1)//4)");
  EXPECT_EQ(Fold("(a[0,3]*9 + 2) % 18"), "(((a%2)*9)+2)");
  EXPECT_EQ(Fold("(a[-3,3]*9 + 2) % 18"), "") << "the rest is not exact below 0";
  EXPECT_EQ(Fold("(a[-7,7]*6 + b[-7,7]*12) % 3"), "0");
}

TEST(DivMod, SplitsWhatTheDivisorDivides) {
  EXPECT_EQ(Fold("(a[0,9]*8 + b[0,9]) / 4"), "((a*2)+(b//4))");
  EXPECT_EQ(Fold("(a[0,24] + 21) / 20"), "(((a+1)//20)+1)");
  EXPECT_EQ(Fold("(a[9,24] + -5) / 4"), "(((a+3)//4)+-2)");
  EXPECT_EQ(Fold("(a[0,255]*-1 + 256) / 2"), "((((a+1)//2)*-1)+128)");
  EXPECT_EQ(Fold("(a[0,9]*8 + b[-9,9]) / 4"), "") << "the numerator may be negative";
  EXPECT_EQ(Fold("(a[0,24] + -1) / 4"), "");
}

TEST(DivMod, DropsSmallTerms) {
  EXPECT_EQ(Fold("(a[0,9]*4 + b[0,3]) / 12"), "(a//3)");
  EXPECT_EQ(Fold("(a[0,9]*4 + b[0,3]) % 12"), "(b+((a%3)*4))");
  EXPECT_EQ(Fold("(a[0,9]*-7 + b[0,6] + 63) / 35"), "(((a*-1)+9)//5)");
}

TEST(DivMod, Nests) {
  EXPECT_EQ(Fold("(x[-99,99] / 4) / 5"), "(x//20)");
  EXPECT_EQ(Fold("(x[0,124] / 2 + 1) / 2"), "((x+2)//4)");
  EXPECT_EQ(Fold("(x[-1,124] / 2 + 1) / 2"), "");
  EXPECT_EQ(Fold("(x[-31,31] % 12) % 4"), "(x%4)");
  EXPECT_EQ(Fold("(x[0,31] % 12 + y[0,9]) % 4"), "((x+y)%4)");
  EXPECT_EQ(Fold("((v[0,9] + -1) % 5 + w[0,9]*2 + -2) % 5"), "");
}

TEST(DivMod, ByFactor) {
  EXPECT_EQ(Fold("(g[0,7]*2 + l[0,1]*3) / 6"), "((g+l)//3)");
  EXPECT_EQ(Fold("(g[0,7]*2 + l[0,12]) / 6"), "") << "one more division";
}

TEST(DivMod, ByAnExpression) {
  EXPECT_EQ(Fold("r0:(a[1,10] + 2) / (a + 2)"), "0");
  EXPECT_EQ(Fold("r0:(a[1,10] + 2) % (a + 2)"), "ridx0");
  EXPECT_EQ(Fold("(i[0,9]*n[1,10] + r0:(n)) / n"), "(i+(ridx0//n))");
  EXPECT_EQ(Fold("(i[0,9]*n[1,10] + r0:(n)) % n"), "(ridx0%n)");
  EXPECT_EQ(Fold("(r1:3*n[1,10] + r0:(n)) / (n*3)"), "0");
  EXPECT_EQ(Fold("(i[-9,9]*n[1,10]) / n"), "i");
  EXPECT_EQ(Fold("(i[-9,9]*4) % (n[1,10]*6)"), "(((i*2)%(n*3))*2)");
  EXPECT_EQ(Fold("(i[-9,9]*n[1,10]) / (n*m[1,4])"), "(i//m)");
  EXPECT_EQ(Fold("x[-9,9] / y[-1,1]"), "") << "may divide by 0";
}

TEST(DivMod, FixedWidthsOnlyWhereNothingWraps) {
  EXPECT_EQ(Fold("(a[0,9]:int32*8 + b[0,9]:int32) / 4"), "((a*2)+(b//4))");
  EXPECT_EQ(Fold("(a[0,99]:int8*8) / 4"), "") << "the product wraps";
  EXPECT_EQ(Fold("a[0,255]:uint8*255 / 2"), "");
  EXPECT_EQ(Fold("a[-128,0]:int8 / 3"), "") << "128 is not an int8";
  EXPECT_EQ(Fold("(a[0,9]:int8 / 100) / 100"), "0");
  EXPECT_EQ(Fold("(a[-128,127]:int8 / 12) / 11"), "0") << "by bounds: 132 is not an int8";
}

TEST(DivMod, LeavesDivisionByZero) {
  EXPECT_EQ(Fold("a[0,9] / 0"), "");
  EXPECT_EQ(Fold("a[0,9]:int32 % 0"), "");
}

}  // namespace
}  // namespace kiln::symbolic
