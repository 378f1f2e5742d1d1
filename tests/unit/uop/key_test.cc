#include "core/uop/key.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

std::string KeyText(std::string_view text) {
  Graph g;
  const absl::StatusOr<Ref> n = Parse(g, text);
  return n.ok() ? ToString(KeyOf(g, *n)) : n.status().ToString();
}

// Caches on disk outlive the process: whoever changes these values invalidates them all.
TEST(Key, NeverChanges) {
  EXPECT_EQ(KeyText("3"), "b1fe2dab01db40829efcab45e8af7997");
  EXPECT_EQ(KeyText("i[0,63] * 4 + r0.reduce:8"), "80d7481691a77a07b882eaa77976e6a2");
  EXPECT_EQ(KeyText("reduce{max, 0, 3}(input{1}(2, 3, 4, 5):bfloat16)"),
            "894fb603936d95ccc890bf83eb256d69");
  EXPECT_EQ(
      KeyText("load(index(param{\"a name of more than sixteen bytes\", 0, 64, local}:float32, 1))"),
      "bc57df29c7d8526c996ab27bf6c3250b");
}

TEST(Key, DoesNotDependOnHowTheGraphWasBuilt) {
  support::Random random(8);
  for (int run = 0; run < 200; ++run) {
    Graph g, other;
    const std::vector<Ref> roots = RandomGraph(g, random, 80);
    RandomGraph(other, random, 50);  // Other ids.
    const auto copy = ParseRoots(other, ToText(roots));
    ASSERT_TRUE(copy.ok()) << copy.status();
    for (size_t i = 0; i < roots.size(); ++i) {
      EXPECT_EQ(KeyOf(g, roots[i]), KeyOf(other, (*copy)[i]));
    }
  }
}

TEST(Key, ChangesWithEveryPart) {
  std::set<std::string> keys;
  size_t texts = 0;
  for (std::string_view text : {"a[0,9] + b[0,9]",
                                "b[0,9] + a[0,9]",
                                "a[0,9] - b[0,9]",
                                "add(a[0,9], b[0,9]):int32",
                                "add(a[0,9], b[0,9])#1",
                                "add(a[0,9], b[0,9])#2",
                                "a[0,9] + a[0,9]",
                                "a[0,8] + b[0,9]",
                                "sink()",
                                "sink(sink())",
                                "sink(sink(), sink())",
                                "sink(sink(sink()))",
                                "1",
                                "2",
                                "1:int32",
                                "1:int64",
                                "0.0:float32",
                                "-0.0:float32",
                                "nan:float32",
                                "true",
                                "1:uint8",
                                "input{0}(2):int8",
                                "input{1}(2):int8",
                                "input{0}(2, 2):int8",
                                "reduce{add, 0}(1)",
                                "reduce{add, 1}(1)",
                                "reduce{max, 0}(1)",
                                "r0:4",
                                "r1:4",
                                "r0.reduce:4",
                                "r0:5",
                                "rm1:4",
                                "kernel{\"a\"}(1)",
                                "kernel{\"b\"}(1)",
                                "kernel{\"a\", 0}(1)",
                                "kernel{\"a\", 0, 0}(1)",
                                "kernel{\"a\\x00\"}(1)",
                                "kernel(1)"}) {
    ++texts;
    EXPECT_TRUE(keys.insert(KeyText(text)).second) << text;
  }
  EXPECT_EQ(keys.size(), texts);
}

TEST(Key, DiffersBetweenAllNodesOfALargeGraph) {
  support::Random random(9);
  Graph g;
  RandomGraph(g, random, 50000);
  std::set<Key> keys;
  std::set<uint64_t> halves[2];
  for (UOpId id = 0; id < g.size(); ++id) {
    const Key key = KeyOf(g, g.At(id));
    EXPECT_TRUE(keys.insert(key).second) << ToText(g.At(id));
    EXPECT_TRUE(halves[0].insert(key.hi).second);
    EXPECT_TRUE(halves[1].insert(key.lo).second);
  }
}

}  // namespace
}  // namespace kiln::uop
