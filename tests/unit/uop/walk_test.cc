#include "core/uop/walk.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/parse.h"
#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Toposort, ListsSourcesFirstAndEachOnce) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  g.Variable("unrelated", 0, 9);
  Ref sum = g.Add(a, b), product = g.Mul(sum, sum);
  EXPECT_THAT(Toposort(product), ElementsAre(a, b, sum, product));
  EXPECT_THAT(Toposort(absl::Span<const Ref>()), IsEmpty());
}

TEST(Toposort, IsWhatIsReachableByIdOnRandomGraphs) {
  support::Random random(12);
  for (int run = 0; run < 100; ++run) {
    Graph g;
    std::vector<Ref> roots = RandomGraph(g, random, static_cast<int>(random.Uniform(1, 400)));
    if (random.Chance(1, 2)) roots = {roots.front()};
    std::set<UOpId> reachable;
    for (Ref r : roots) reachable.insert(r->id);
    for (UOpId id = g.size(); id-- > 0;) {
      if (!reachable.contains(id)) continue;
      for (Ref s : g.At(id)->src()) reachable.insert(s->id);
    }
    std::vector<UOpId> ids;
    for (Ref n : Toposort(roots)) ids.push_back(n->id);
    EXPECT_EQ(ids, std::vector<UOpId>(reachable.begin(), reachable.end()));
    EXPECT_EQ(CountNodes(roots[0]), static_cast<int64_t>(Toposort(roots[0]).size()));
  }
}

TEST(Visit, StopsWhenToldTo) {
  Graph g;
  Ref n = *Parse(g, "a[0,9] + b[0,9] * a");
  int visited = 0;
  EXPECT_TRUE(Visit(n, [&](Ref) { return ++visited > 0; }));
  EXPECT_EQ(visited, 4);
  EXPECT_FALSE(Visit(n, [](Ref m) { return m->op != Op::kMul; }));
}

TEST(Users, AreListedOnceAndById) {
  Graph g;
  Ref a = g.Variable("a", 0, 9), b = g.Variable("b", 0, 9);
  Ref sum = g.Add(a, b), square = g.Mul(a, a), root = g.Add(sum, square);
  g.Add(a, g.Index(1));  // Not below the root.
  const Users users(absl::MakeConstSpan(&root, 1));
  EXPECT_THAT(users.Of(a), ElementsAre(sum, square));
  EXPECT_THAT(users.Of(b), ElementsAre(sum));
  EXPECT_THAT(users.Of(root), IsEmpty());
  EXPECT_THAT(users.Of(g.Index(1)), IsEmpty());
}

TEST(Users, MatchTheDefinitionOnRandomGraphs) {
  support::Random random(13);
  for (int run = 0; run < 100; ++run) {
    Graph g;
    const std::vector<Ref> roots = RandomGraph(g, random, 200), nodes = Toposort(roots);
    const Users users(roots);
    for (Ref n : nodes) {
      std::vector<Ref> expected;
      for (Ref m : nodes) {
        if (absl::c_linear_search(m->src(), n)) expected.push_back(m);
      }
      EXPECT_EQ(users.Of(n), absl::MakeConstSpan(expected));
    }
  }
}

TEST(NodeMap, ReadsAsEmptyWhatWasNotSet) {
  Graph g;
  Ref a = g.Index(1);
  for (int i = 0; i < 2000; ++i) g.Index(i);
  Ref b = g.Index(5000);
  NodeMap<int> map;
  EXPECT_EQ(map.Get(b), 0);
  map[b] = 3;
  map.Set(a, 4);
  EXPECT_EQ(map.Get(b), 3);
  EXPECT_EQ(map.Get(a), 4);
  EXPECT_EQ(map.Get(g.Index(700)), 0);
  map.Clear();
  EXPECT_EQ(map.Get(b), 0);
  EXPECT_EQ(map[a], 0);
  map[a] = 5;
  NodeMap<int> moved = std::move(map);
  EXPECT_EQ(moved.Get(a), 5);
  EXPECT_EQ(moved.Get(b), 0);
}

}  // namespace
}  // namespace kiln::uop
