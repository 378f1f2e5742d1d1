#include "core/symbolic/order.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/random_expr.h"

namespace kiln::symbolic {
namespace {

// `nodes` are in increasing order, each against each.
void ExpectIncreasing(const std::vector<Ref>& nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = 0; j < nodes.size(); ++j) {
      const int order = Compare(nodes[i], nodes[j]);
      EXPECT_EQ(order < 0, i < j) << i << " and " << j;
      EXPECT_EQ(order == 0, i == j) << i << " and " << j;
    }
  }
}

TEST(Compare, PutsVariablesFirstAndConstantsLast) {
  Graph g;
  const Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  ExpectIncreasing(
      {a, b, g.Special("gidx0", g.Index(4)), g.Cast(g.Int(DType::kInt32, 1), DType::kIndex),
       g.Add(a, b), g.Mul(a, b), g.IDiv(a, b), g.Max(a, b), g.Mod(a, b), g.Where(g.Lt(a, b), a, b),
       g.Range(8, 0), g.Make(Op::kStack, DType::kIndex, {g.Index(1), g.Index(2)}), g.Index(-1)});
}

TEST(Compare, PutsStacksOfOtherThingsBeforeCasts) {
  Graph g;
  const Ref a = g.Variable("a", 0, 9);
  ExpectIncreasing({a, g.Make(Op::kStack, DType::kIndex, {a, g.Index(2)}),
                    g.Cast(g.Int(DType::kInt32, 1), DType::kIndex)});
}

TEST(Compare, OrdersVariablesByNameThenBounds) {
  Graph g;
  ExpectIncreasing({g.Variable("a", -5, 1), g.Variable("a", 0, 1), g.Variable("a", 0, 9),
                    g.Variable("a1", 0, 1), g.Variable("b", -9, 1)});
}

TEST(Compare, OrdersRangesByAxisThenType) {
  Graph g;
  ExpectIncreasing({g.Range(8, -2), g.Range(8, -1), g.Range(8, 0, AxisType::kGlobal),
                    g.Range(8, 0, AxisType::kLoop), g.Range(9, 0, AxisType::kLoop), g.Range(2, 1)});
}

TEST(Compare, OrdersConstantsByValueThenDType) {
  Graph g;
  const auto f32 = [&g](double v) { return g.Const(DType::kFloat32, Scalar::Float(v)); };
  ExpectIncreasing({f32(-INFINITY), g.Index(-3), g.Int(DType::kInt32, -3), f32(-0.0), f32(0.0),
                    f32(0.5), g.Index(1), g.Bool(true), g.Int(DType::kInt8, 1), f32(1.0),
                    g.Index(INT64_MAX), g.Int(DType::kUInt64, -1), f32(INFINITY), f32(NAN)});
}

TEST(Compare, LooksAtSourcesFromTheFirstToTheLast) {
  Graph g;
  const Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  ExpectIncreasing({g.Mul(a, a), g.Mul(a, b), g.Mul(a, g.Index(2)), g.Mul(a, g.Index(3)),
                    g.Mul(b, a), g.Mul(b, g.Index(1))});
}

TEST(Compare, DistinguishesTags) {
  Graph g;
  const Ref a = g.Variable("a", 0, 9);
  ExpectIncreasing(
      {g.Make(Op::kNeg, DType::kIndex, {a}), g.Make(Op::kNeg, DType::kIndex, {a}, {}, 1)});
}

TEST(Compare, PrefersFewerSources) {
  Graph g;
  const Ref a = g.Variable("a", 0, 9);
  ExpectIncreasing(
      {g.Make(Op::kStack, DType::kIndex, {a}), g.Make(Op::kStack, DType::kIndex, {a, a})});
}

TEST(Compare, DescendsDeepGraphs) {
  Graph g;
  const Ref a = g.Variable("a", 0, 1);
  Ref x = a, y = g.Variable("b", 0, 1);
  for (int i = 0; i < 1'000'000; ++i) {
    x = g.Unary(Op::kNeg, x);
    y = g.Unary(Op::kNeg, y);
  }
  EXPECT_LT(Compare(x, y), 0);
  EXPECT_GT(Compare(y, x), 0);
}

TEST(Compare, IsATotalOrderThatDoesNotDependOnIds) {
  std::vector<std::vector<int>> permutations;
  // The same expressions, made in one order and in the opposite one.
  for (bool reverse : {false, true}) {
    Graph g;
    std::vector<Ref> nodes(200);
    for (int i = 0; i < 200; ++i) {
      const int seed = reverse ? 199 - i : i;
      nodes[seed] = support::RandomExpressions(g, seed, {.depth = 3, .num_variables = 2}).Index();
    }
    std::vector<int> order(200);
    for (int i = 0; i < 200; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&nodes](int i, int j) {
      const int c = Compare(nodes[i], nodes[j]);
      EXPECT_EQ(c < 0, Compare(nodes[j], nodes[i]) > 0);
      EXPECT_EQ(c == 0, nodes[i] == nodes[j]);
      return c < 0;
    });
    permutations.push_back(order);
  }
  EXPECT_EQ(permutations[0], permutations[1]);
}

}  // namespace
}  // namespace kiln::symbolic
