#include "tests/replay/strided.h"

#include <gtest/gtest.h>

namespace kiln::replay {
namespace {

Elements Read(const char* text) { return *ParseElements(*ParseJson(text)); }

TEST(IsAffine, AcceptsStridesAndAnOffset) {
  EXPECT_TRUE(IsAffine(Read(R"({"shape": [2, 3], "offsets": [5, 4, 3, 15, 14, 13]})")));
  EXPECT_TRUE(IsAffine(Read(R"({"shape": [], "offsets": [7]})")));
  EXPECT_TRUE(
      IsAffine(Read(R"({"shape": [9, 9], "at": [0, 10, 40, 80], "offsets": [3, 12, 39, 75]})")));
}

TEST(IsAffine, RefusesPaddingAndFolds) {
  EXPECT_FALSE(IsAffine(Read(R"({"shape": [3], "offsets": [0, 1, -1]})")));
  EXPECT_FALSE(IsAffine(Read(R"({"shape": [4], "offsets": [0, 1, 0, 1]})")));
}

TEST(IsStridedForm, ToleratesNoDivision) {
  Graph g;
  Ref i = g.Variable("i", 1, 5), r = g.Range(4, 0), s = g.Range(i, 1);
  EXPECT_TRUE(IsStridedForm(g, g.Index(3)));
  EXPECT_TRUE(IsStridedForm(g, g.Add(g.Add(g.Mul(r, g.Index(-4)), s), g.Mul(i, g.Index(3)))));
  EXPECT_FALSE(IsStridedForm(g, g.Add(r, r)));
  EXPECT_FALSE(IsStridedForm(g, g.Mod(r, g.Index(2))));
  EXPECT_FALSE(IsStridedForm(g, g.Mul(g.Add(r, s), g.Index(2))));
}

TEST(ParseElements, RefusesWhatDoesNotFit) {
  for (const char* text : {R"({"shape": [2], "offsets": [0]})", R"({"shape": [-1], "offsets": []})",
                           R"({"shape": [2], "at": [2], "offsets": [0]})",
                           R"({"shape": [0], "at": [0], "offsets": [0]})",
                           R"({"shape": [4611686018427387904, 4], "at": [], "offsets": []})"}) {
    EXPECT_FALSE(ParseElements(*ParseJson(text)).ok()) << text;
  }
}

}  // namespace
}  // namespace kiln::replay
