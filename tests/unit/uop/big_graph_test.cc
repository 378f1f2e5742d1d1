// Graphs of millions of nodes, and chains a million deep: nothing recurses, everything is linear.
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/facts.h"
#include "core/uop/graph.h"
#include "core/uop/parse.h"
#include "core/uop/substitute.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"

namespace kiln::uop {
namespace {

using ::testing::HasSubstr;

constexpr int kMillion = 1000000;

// A chain of `nodes` nodes above `n`, no two of which are equal.
Ref Chain(Graph& g, Ref n, int nodes) {
  Ref step = g.Variable("step", 0, 1);
  for (int i = 0; i < nodes; ++i) n = i % 2 == 0 ? g.Mul(n, step) : g.Add(n, step);
  return n;
}

TEST(BigGraph, HoldsTenMillionNodes) {
  constexpr int kNodes = 10 * kMillion;
  Graph g;
  Ref root = Chain(g, g.Variable("i", 0, 9), kNodes);
  EXPECT_EQ(g.size(), kNodes + 2u);
  EXPECT_EQ(CountNodes(root), kNodes + 2);
  EXPECT_EQ(Chain(g, g.Variable("i", 0, 9), kMillion)->id, kMillion + 1u) << "found again";
  EXPECT_EQ(g.size(), kNodes + 2u);
  // 64 bytes a node, and 16 to 32 of intern table; the last chunk may be half empty.
  EXPECT_LT(g.capacity_bytes() / kNodes, 64 * 2 + 32);
}

TEST(BigGraph, FactsOfAMillionDeepChain) {
  Graph g;
  Ref r = g.Range(9, 0), root = Chain(g, r, kMillion);
  EXPECT_EQ(VMin(g, root), 0);
  EXPECT_EQ(VMax(g, root), 8 + kMillion / 2);
  EXPECT_EQ(RangesOf(g, root).size(), 1u);
  EXPECT_THAT(ShapeOf(g, root), support::IsOk());
  Graph other;
  EXPECT_EQ(KeyOf(g, root), KeyOf(other, Chain(other, other.Range(9, 0), kMillion)));
}

TEST(BigGraph, WalksOfAMillionDeepChain) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9), root = Chain(g, a, kMillion);
  EXPECT_EQ(Toposort(root).size(), kMillion + 2u);
  EXPECT_EQ(Users(absl::MakeConstSpan(&root, 1)).Of(g.Variable("step", 0, 1)).size(), kMillion);
  EXPECT_THAT(Substitute(g, root, {{a, b}}), support::IsOkAndHolds(Chain(g, b, kMillion)));
  EXPECT_EQ(SubstituteOnce(g, root, {{a, b}}), Chain(g, b, kMillion));
}

TEST(BigGraph, ATextOfAMillionDeepChainIsLinear) {
  Graph g;
  Ref root = Chain(g, g.Variable("i", 0, 9), kMillion);
  const std::string text = ToText(root);
  EXPECT_LT(text.size(), size_t{kMillion} * 10);
  EXPECT_THAT(Parse(g, text), support::IsOkAndHolds(root));

  Ref negations = g.Variable("i", 0, 9);
  for (int i = 0; i < kMillion; ++i) negations = g.Unary(Op::kNeg, negations);
  EXPECT_THAT(Parse(g, ToText(negations)), support::IsOkAndHolds(negations));
}

TEST(BigGraph, ReadsNestingThatItWouldNotWrite) {
  Graph g;
  const std::string open(kMillion, '('), close(kMillion, ')');
  EXPECT_THAT(Parse(g, open + "1" + close), support::IsOkAndHolds(g.Index(1)));
  std::string calls;
  for (int i = 0; i < kMillion; ++i) calls += "sin(";
  EXPECT_THAT(Parse(g, calls),
              support::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("before the end")));
}

}  // namespace
}  // namespace kiln::uop
