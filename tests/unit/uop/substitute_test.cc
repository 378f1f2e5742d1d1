#include "core/uop/substitute.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"

namespace kiln::uop {
namespace {

using ::testing::HasSubstr;

// `text` lists root, from, to, from, to...
std::string Result(std::string_view text) {
  Graph g;
  const absl::StatusOr<std::vector<Ref>> nodes = ParseRoots(g, text);
  if (!nodes.ok()) return nodes.status().ToString();
  std::vector<Replacement> replacements;
  for (size_t i = 1; i + 1 < nodes->size(); i += 2) {
    replacements.push_back({(*nodes)[i], (*nodes)[i + 1]});
  }
  const absl::StatusOr<Ref> result = Substitute(g, (*nodes)[0], replacements);
  return result.ok() ? ToText(*result) : result.status().ToString();
}

std::string ResultOnce(std::string_view text) {
  Graph g;
  const absl::StatusOr<std::vector<Ref>> nodes = ParseRoots(g, text);
  if (!nodes.ok()) return nodes.status().ToString();
  std::vector<Replacement> replacements;
  for (size_t i = 1; i + 1 < nodes->size(); i += 2) {
    replacements.push_back({(*nodes)[i], (*nodes)[i + 1]});
  }
  return ToText(SubstituteOnce(g, (*nodes)[0], replacements));
}

TEST(Substitute, ReplacesEverywhere) {
  EXPECT_EQ(Result("a[0,9] + 4 + b[0,9], a, c[0,9], b, c"), "c[0,9] + 4 + c");
  EXPECT_EQ(Result("a[0,9] + 4, b[0,9], c[0,9]"), "a[0,9] + 4");
  EXPECT_EQ(Result("a[0,9] + 4"), "a[0,9] + 4");
}

TEST(Substitute, ReplacesUsersBeforeTheirSources) {
  EXPECT_EQ(Result("sin(sin(a[0,9])), sin(a), sqrt(a)"), "sin(sqrt(a[0,9]))");
  EXPECT_EQ(Result("a[0,9] * 2 + a, a * 2, b[0,9], a, c[0,9]"), "b[0,9] + c[0,9]");
}

TEST(Substitute, GoesThroughReplacementsAndRebuiltNodes) {
  EXPECT_EQ(Result("sin(sin(a[0,9])), sin(a), sqrt(a), sin(sin(a)), sqrt(sin(a))"),
            "sqrt(sqrt(a[0,9]))");
  EXPECT_EQ(Result("a[0,9] + 1, a, b[0,9], b, c[0,9]"), "c[0,9] + 1");
  EXPECT_EQ(Result("sin(a[0,9]), a, b[0,9], sin(b), c[0,9]"), "c[0,9]");
}

TEST(Substitute, KeepsTags) {
  EXPECT_EQ(Result("add(a[0,9], 4)#1, a, b[0,9]"), "add(b[0,9], 4)#1");
}

TEST(Substitute, IgnoresIdentity) { EXPECT_EQ(Result("a[0,9] + 1, a, a"), "a[0,9] + 1"); }

TEST(Substitute, RefusesWhatNeverEnds) {
  for (std::string_view text : {"a[0,9] * 2, a, a + 1", "a[0,9] * 2, a, b[0,9], b, a",
                                "sin(a[0,9]), a, b[0,9], sin(b), sin(a) + 1"}) {
    EXPECT_THAT(Result(text), HasSubstr("INVALID_ARGUMENT: the substitution never ends: node "))
        << text;
  }
  EXPECT_EQ(Result("c[0,9] * 2, a[0,9], a + 1"), "c[0,9] * 2") << "only if it is met";
}

TEST(SubstituteOnce, ReplacesAllAtOnce) {
  EXPECT_EQ(ResultOnce("a[0,9] * 2, a, a + 1"), "(a[0,9] + 1) * 2");
  EXPECT_EQ(ResultOnce("a[0,9] - b[0,9], a, b, b, a"), "b[0,9] - a[0,9]");
  EXPECT_EQ(ResultOnce("sin(sin(a[0,9])), sin(a), sqrt(a), sin(sin(a)), sqrt(sin(a))"),
            "sqrt(sin(a[0,9]))");
  EXPECT_EQ(ResultOnce("add(a[0,9], 4)#1, a, b[0,9]"), "add(b[0,9], 4)#1");
}

TEST(Substitute, IsLinearOnSharedGraphs) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  const auto squares = [&g](Ref n) {
    for (int i = 0; i < 20000; ++i) n = g.Add(g.Mul(n, n), g.Index(i));  // 2^20000 paths.
    return n;
  };
  Ref n = squares(a);
  EXPECT_THAT(Substitute(g, n, {{a, b}}), support::IsOkAndHolds(squares(b)));
  EXPECT_EQ(SubstituteOnce(g, n, {{a, b}}), squares(b));
}

}  // namespace
}  // namespace kiln::uop
