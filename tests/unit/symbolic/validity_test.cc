#include "core/symbolic/validity.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/uop/parse.h"

namespace kiln::symbolic {
namespace {

// `text` is "condition, expression"; "never" if the condition can't hold.
std::string Given(std::string_view text) {
  Graph g;
  const std::vector<Ref> roots = *uop::ParseRoots(g, text);
  Ref condition = *Simplify(g, roots[0]);
  Ref result = *SimplifyGiven(g, roots[1], condition);
  return result != nullptr ? Render(result) : "never";
}

std::string Conjunction(std::string_view text) {
  Graph g;
  return Render(*SimplifyConjunction(g, *Simplify(g, *uop::Parse(g, text), Effort::kSymbolic)));
}

TEST(SimplifyGiven, UsesBoundsOfVariables) {
  EXPECT_EQ(Given("(i[0,511] < 488) & ((i < 480) != true), (i*3 + 18) % 26"), "((i*3)+-1438)");
  EXPECT_EQ(Given("(i[0,9] < 1), i*5 + j[0,9]"), "j");
}

TEST(SimplifyGiven, UsesBoundsOfSumsWithinSums) {
  EXPECT_EQ(Given("a[0,9] + b[0,9]*4 < 6, (a*3 + b*12 + c[0,2]) / 18"), "0");
  EXPECT_EQ(Given("(a[0,3] + b[0,3]*4 < 15) != true, a + b*4 - 15"), "0");
}

TEST(SimplifyGiven, UsesMultiplesThatDiffer) {
  // 2*a + b and 8*c + d are 0 together with a + b and c + d.
  EXPECT_EQ(Given("((a[0,63] + b[0,2] < 1) != true) & ((c[0,15] + d[0,2] < 1) != true),"
                  "(a*1536 + b*768 + c*24 + d*3 + e[0,2] - 771) % 768"),
            "(((e+(c*24))+(d*3))+-3)");
}

TEST(SimplifyGiven, TriesTheCasesOfASum) {
  EXPECT_EQ(Given("(c[0,31] + d[0,2] < 1) != true, (c + (d + 7)/8 + 31) / 32"), "1");
  EXPECT_EQ(Given("(a[0,3] + b[0,3] < 1) != true, (a*2 + b*2 + 1) / 3"), "((((a*2)+(b*2))+1)//3)")
      << "not equal in all";
}

TEST(SimplifyGiven, ReadsNegatedDisjunctions) {
  EXPECT_EQ(Given("((a[0,3] < 1) | (b[0,3] < 1)) != true, (a + b + 28) / 30"), "1");
}

TEST(SimplifyGiven, PutsKnownConditionsIn) {
  EXPECT_EQ(Given("(a[0,3] < b[0,3]), where(a < b, c[0,9], d[0,9])"), "c");
  EXPECT_EQ(Given("(a[0,3] < b[0,3]) != true, where(a < b, c[0,9], d[0,9])"), "d");
}

TEST(SimplifyGiven, UsesVariablesBelowWhatHasBoundsOfItsOwn) {
  const std::string wide = "(i[0,113] % 19 < 11) & ((i < 57) != true) & (i < 76)";
  EXPECT_EQ(Given(wide + ", i % 19 - 3"), "(i+-60)");
  EXPECT_EQ(Conjunction("((i[0,113] % 19 < 3) != true) & " + wide), "(((i<60)!=True)&(i<68))");
}

TEST(SimplifyGiven, SaysWhatNeverHolds) { EXPECT_EQ(Given("(a[0,9] < 3) & (5 < a), a"), "never"); }

TEST(SimplifyGiven, ReturnsTheSameNodeIfNothingHelps) {
  Graph g;
  Ref n = *Simplify(g, *uop::Parse(g, "(a[0,9] + b[0,9]) % 7"));
  EXPECT_EQ(*SimplifyGiven(g, n, *uop::Parse(g, "c[0,9] < 4")), n);
  EXPECT_EQ(*SimplifyGiven(g, n, *uop::Parse(g, "a[0,9] < 8")), n);
}

TEST(SimplifyConjunction, DropsWhatFollows) {
  EXPECT_EQ(Conjunction("(s[0,9] < 6) & (s < 5)"), "(s<5)");
  EXPECT_EQ(Conjunction("(s[0,9] < 6) & (2 < s)"), "((s<6)&(2<s))");
  EXPECT_EQ(Conjunction("((r0:2*5 + 1) % 6 < 5) & (r0 < 1)"), "(ridx0<1)");
}

TEST(SimplifyConjunction, FindsContradictionsInAnyOrder) {
  std::vector<std::string> clauses = {"((g0 + 11) % 14 < 11)",
                                      "((g1 + r0*13 + (g0 + 39)/42) % 14 < 11)", "(g0 < 3)",
                                      "(g1 + r0*13 < 42)"};
  std::sort(clauses.begin(), clauses.end());
  do {
    // The variables are declared where they are met first.
    const std::string text =
        absl::StrCat("%0 = g0:13; %1 = g1:13; %2 = r0:4; ", absl::StrJoin(clauses, " & "));
    EXPECT_EQ(Conjunction(text), "False") << text;
  } while (std::next_permutation(clauses.begin(), clauses.end()));
}

TEST(SimplifyConjunction, FlattensWhatBecomesAConjunction) {
  Graph g;
  const auto simplified = [&g](std::string_view text) {
    return *Simplify(g, *uop::Parse(g, text));
  };
  EXPECT_EQ(simplified("(r0:2 < 1) & where(v[0,1] < 1, g0:2 < 1, (r0 != 1) != true)"),
            simplified("((r0:2 < 1) & (v[0,1] < 1)) & (g0:2 < 1)"));
}

TEST(SimplifyConjunction, KeepsWhatItCannotReplaceBySomethingSmaller) {
  EXPECT_EQ(Conjunction("(x[-100,100] < 0) & cast(100 % x):bool"), "((x<0)&(bool)((100%x)))");
}

TEST(SimplifyConjunction, PutsBackWhatMayWrap) {
  EXPECT_EQ(Conjunction("(x[0,4294967295]:uint32 * 12 == x) & (x * 12 < 4294967295)"),
            "(cmpeq((x*12), x)&((x*12)<4294967295))");
}

TEST(SimplifyConjunction, DoesNotLookIntoLoads) {
  const std::string text = Conjunction(
      "(a[0,9] < 5) & (load(index(param{\"in\", 0, 64, global}:float32, a, a < 5)) != 0)");
  EXPECT_THAT(text, ::testing::HasSubstr("load(index(param(), a, (a<5)))"));
}

}  // namespace
}  // namespace kiln::symbolic
