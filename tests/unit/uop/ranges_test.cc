#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/walk.h"
#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

using ::testing::ElementsAre;

// Axis ids.
std::vector<int> Ranges(std::string_view text) {
  Graph g;
  std::vector<int> axes;
  for (Ref r : RangesOf(g, *Parse(g, text))) axes.push_back(r->arg.range().axis_id);
  return axes;
}

TEST(Ranges, OfANodeAreThoseOfItsSources) {
  EXPECT_THAT(Ranges("i[0,9] + 1"), ElementsAre());
  EXPECT_THAT(Ranges("r0:4"), ElementsAre(0));
  EXPECT_THAT(Ranges("(r3:4 + r1:5) * r3"), ElementsAre(3, 1)) << "by id";
  EXPECT_THAT(Ranges("r0:(r1:4 + 1)"), ElementsAre(1, 0)) << "an end may depend on another range";
}

TEST(Ranges, EndAtReduceEndAndStore) {
  EXPECT_THAT(Ranges("reduce{add}(r0:4 + r1:5, r1)"), ElementsAre(0));
  EXPECT_THAT(Ranges("reduce{add}(r0:4, r0) + r0"), ElementsAre(0)) << "ended below, open beside";
  EXPECT_THAT(Ranges("reduce{add}(r0:(r1:4), r0)"), ElementsAre(1));
  const std::string store = "store(index(param{\"p\", 0, 9, global}:index, r0:4 + r1:2), 1";
  EXPECT_THAT(Ranges(store + ")"), ElementsAre(0, 1));
  EXPECT_THAT(Ranges(store + ", r0)"), ElementsAre(1));
  EXPECT_THAT(Ranges("end(" + store + "), r0, r1)"), ElementsAre());
  EXPECT_THAT(Ranges("after(param{\"q\", 1, 9, global}:index, end(" + store + "), r0))"),
              ElementsAre(1));
}

TEST(Ranges, MatchTheDefinitionOnRandomGraphs) {
  support::Random random(11);
  for (int run = 0; run < 200; ++run) {
    Graph g;
    std::vector<Ref> nodes;
    for (int i = 0; i < 5; ++i) nodes.push_back(g.Range(random.Uniform(1, 9), i));
    for (int i = 0; i < 60; ++i) {
      Ref a = random.Pick(absl::MakeConstSpan(nodes)), b = random.Pick(absl::MakeConstSpan(nodes));
      const bool reduce = random.Chance(1, 3);
      nodes.push_back(reduce
                          ? g.Make(Op::kReduce, DType::kIndex, {a, b}, Arg::Of(ReduceArg{Op::kAdd}))
                          : g.Add(a, b));
    }
    for (Ref n : nodes) {
      std::vector<Ref> expected;
      for (Ref s : n->src()) {
        for (Ref r : RangesOf(g, s)) expected.push_back(r);
      }
      if (n->op == Op::kRange) expected.push_back(n);
      std::sort(expected.begin(), expected.end(), [](Ref x, Ref y) { return x->id < y->id; });
      expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
      if (n->op == Op::kReduce) {
        std::erase(expected, n->src(1)->Is(Op::kRange) ? n->src(1) : nullptr);
      }
      EXPECT_EQ(RangesOf(g, n), absl::MakeConstSpan(expected));
    }
  }
}

TEST(AddressSpace, IsThatOfTheMemoryBelow) {
  Graph g;
  const auto space = [&g](std::string_view text) { return AddressSpaceOf(*Parse(g, text)); };
  EXPECT_EQ(space("param{\"a\", 0, 4, local}:int8"), AddressSpace::kLocal);
  EXPECT_EQ(space("index(after(param{\"b\", 0, 4, reg}:int8, barrier()), 2)"),
            AddressSpace::kRegister);
  EXPECT_EQ(space("buffer{\"CPU\", 1}(4):int8"), AddressSpace::kGlobal);
  EXPECT_EQ(space("load(index(param{\"a\", 0, 4, local}:int8, 0))"), std::nullopt);
  EXPECT_EQ(space("i[0,3]"), std::nullopt);
}

}  // namespace
}  // namespace kiln::uop
