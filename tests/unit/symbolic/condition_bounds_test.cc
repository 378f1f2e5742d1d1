#include "core/symbolic/condition_bounds.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "tests/support/random_expr.h"
#include "tests/support/status_matchers.h"

namespace kiln::symbolic {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class BoundsGivenTest : public ::testing::Test {
 protected:
  Ref C(int64_t v) { return g_.Index(v); }
  // By text, for those nodes that have one; nullopt if the condition is never true.
  std::optional<std::map<std::string, std::pair<int64_t, int64_t>>> Given(Ref condition) {
    const auto found = BoundsGiven(g_, condition);
    if (!found.has_value()) return std::nullopt;
    std::map<std::string, std::pair<int64_t, int64_t>> by_text;
    for (const BoundedNode& b : *found) {
      by_text[Render(b.node)] = {static_cast<int64_t>(b.bounds.lo),
                                 static_cast<int64_t>(b.bounds.hi)};
    }
    return by_text;
  }

  Graph g_;
  const Ref x_ = g_.Variable("x", -100, 100);
  const Ref y_ = g_.Variable("y", 0, 10);
};

TEST_F(BoundsGivenTest, ReadsComparisonsWithConstants) {
  EXPECT_THAT(*Given(g_.Lt(x_, C(5))), ElementsAre(Pair("x", Pair(-100, 4))));
  EXPECT_THAT(*Given(g_.Lt(C(5), x_)), ElementsAre(Pair("x", Pair(6, 100))));
  EXPECT_THAT(*Given(g_.Not(g_.Lt(x_, C(5)))), ElementsAre(Pair("x", Pair(5, 100))));
  EXPECT_THAT(*Given(g_.Not(g_.Lt(C(5), x_))), ElementsAre(Pair("x", Pair(-100, 5))));
  EXPECT_THAT(*Given(g_.Not(g_.Ne(x_, C(5)))), ElementsAre(Pair("x", Pair(5, 5))));
  EXPECT_THAT(*Given(g_.Binary(Op::kCmpEq, x_, C(5))), ElementsAre(Pair("x", Pair(5, 5))));
  EXPECT_THAT(*Given(g_.Ne(x_, C(5))), ElementsAre());
}

TEST_F(BoundsGivenTest, IntersectsTheClausesOfAConjunction) {
  const Ref both = g_.And(g_.Lt(x_, C(5)), g_.And(g_.Lt(C(0), x_), g_.Lt(y_, C(3))));
  EXPECT_THAT(*Given(both), ElementsAre(Pair("x", Pair(1, 4)), Pair("y", Pair(0, 2))));
}

TEST_F(BoundsGivenTest, ComparesVariablesByTheirBounds) {
  EXPECT_THAT(*Given(g_.Lt(x_, y_)), ElementsAre(Pair("x", Pair(-100, 9))));
  EXPECT_THAT(*Given(g_.Lt(y_, g_.Add(x_, C(-95)))),
              UnorderedElementsAre(Pair("y", Pair(0, 4)), Pair("x", Pair(96, 100)),
                                   Pair("(x+-95)", Pair(1, 5))));
}

TEST_F(BoundsGivenTest, LooksBehindConstantsAndCasts) {
  EXPECT_EQ(Given(g_.Lt(g_.Add(g_.Mul(x_, C(-3)), C(1)), C(0)))->at("x"),
            std::pair(int64_t{1}, int64_t{100}));
  EXPECT_EQ(Given(g_.Lt(g_.Mul(x_, C(3)), C(8)))->at("x"), std::pair(int64_t{-100}, int64_t{2}));
  const Ref loaded =
      g_.Variable(DType::kInt64, "l", Scalar::Int(INT64_MIN), Scalar::Int(INT64_MAX));
  EXPECT_EQ(Given(g_.Lt(C(-1), g_.Cast(loaded, DType::kIndex)))->at("l"),
            std::pair(int64_t{0}, int64_t{INT64_MAX}));
  // This cast wraps.
  EXPECT_FALSE(Given(g_.Lt(g_.Cast(loaded, DType::kInt8), g_.Int(DType::kInt8, 3)))->contains("l"));
  // And this sum.
  EXPECT_FALSE(Given(g_.Lt(g_.Add(loaded, g_.Int(DType::kInt64, 1)), g_.Int(DType::kInt64, 3)))
                   ->contains("l"));
}

TEST_F(BoundsGivenTest, RecognisesConditionsThatAreNeverTrue) {
  EXPECT_EQ(Given(g_.And(g_.Lt(x_, C(5)), g_.Lt(C(4), x_))), std::nullopt);
  EXPECT_EQ(Given(g_.Lt(C(3), C(3))), std::nullopt);
  EXPECT_EQ(Given(g_.Bool(false)), std::nullopt);
  EXPECT_EQ(Given(g_.Not(g_.Ne(g_.Mul(x_, C(2)), C(3)))), std::nullopt);
}

TEST_F(BoundsGivenTest, HoldsOnRandomConditions) {
  int checked = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Graph g;
    support::RandomExpressions random(g, seed, {.depth = 3, .num_variables = 2, .num_ranges = 1});
    const Ref condition =
        g.And(random.Bool(), g.And(random.Bool(), g.Lt(random.Index(), g.Index(9))));
    const auto known = BoundsGiven(g, condition);
    for (int i = 0; i < 20; ++i) {
      const Bindings values = random.Values();
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar holds, Evaluate(g, condition, values));
      if (!holds.AsBool()) continue;
      ASSERT_TRUE(known.has_value()) << Render(condition);
      for (const BoundedNode& b : *known) {
        KILN_ASSERT_OK_AND_ASSIGN(const Scalar v, Evaluate(g, b.node, values));
        EXPECT_TRUE(b.bounds.Contains(v.AsInt())) << Render(b.node) << " in " << Render(condition);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 4000);
}

}  // namespace
}  // namespace kiln::symbolic
