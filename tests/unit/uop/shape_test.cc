#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/facts.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/uop/random_graph.h"

namespace kiln::uop {
namespace {

using ::testing::HasSubstr;

// Dims as text, or the error.
std::string Shape(std::string_view text) {
  Graph g;
  const absl::StatusOr<Ref> n = Parse(g, text);
  if (!n.ok()) return n.status().ToString();
  const auto shape = ShapeOf(g, *n);
  if (!shape.ok()) return shape.status().ToString();
  std::string s = "(";
  for (Ref d : *shape) s += (s.size() > 1 ? ", " : "") + ToText(d);
  return s + ")";
}

TEST(Shape, OfScalarsIsEmpty) {
  for (std::string_view text :
       {"3", "i[0,9] + 1", "r0:64", "gidx0:4", "bind(i[0,9], 3)", "input{0}:int8", "sink(1, 2)",
        "load(index(param{\"p\", 0, 9, global}:int8, i[0,8]))"}) {
    EXPECT_EQ(Shape(text), "()") << text;
  }
}

TEST(Shape, OfLeavesIsTheirDims) {
  EXPECT_EQ(Shape("input{0}(2, 3):int8"), "(2, 3)");
  EXPECT_EQ(Shape("input{0}(n[1,9], 3):int8"), "(n[1,9], 3)");
  EXPECT_EQ(Shape("buffer{\"CPU\", 0}(16):int8"), "(16)");
  EXPECT_EQ(Shape("iota{1}(2, 3):index"), "(2, 3)");
}

TEST(Shape, OfMovement) {
  EXPECT_EQ(Shape("reshape(input{0}(2, 3):int8, 6)"), "(6)");
  EXPECT_EQ(Shape("reshape(1:int8, 1, 1)"), "(1, 1)");
  EXPECT_EQ(Shape("reshape(input{0}(2, 0):int8, 0, 7)"), "(0, 7)");
  EXPECT_EQ(Shape("expand(input{0}(2, 1):int8, 2, n[1,9])"), "(2, n[1,9])");
  EXPECT_EQ(Shape("permute{2, 0, 1}(input{0}(2, 3, 4):int8)"), "(4, 2, 3)");
  EXPECT_EQ(Shape("flip{2}(input{0}(2, 3):int8)"), "(2, 3)");
  EXPECT_EQ(Shape("pad(input{0}(2, 3):int8, 1, 0, 0, 4)"), "(3, 7)");
  EXPECT_EQ(Shape("shrink(input{0}(5, 3):int8, 1, 4, 0, 3)"), "(3, 3)");
}

TEST(Shape, OfSymbolicMovementHasOneForm) {
  EXPECT_EQ(Shape("pad(input{0}(n[1,9]):int8, 1, 2)"), "(n[1,9] + 3)");
  EXPECT_EQ(Shape("shrink(pad(input{0}(n[1,9]):int8, 1, 2), 1, n + 1)"), "(n[1,9])");
  EXPECT_EQ(Shape("shrink(input{0}(9):int8, i[0,4], i + 3)"), "(3)");
  EXPECT_EQ(Shape("shrink(input{0}(9):int8, 0, n[1,9])"), "(n[1,9])");
  EXPECT_EQ(Shape("shrink(input{0}(9):int8, m[0,4], n[5,9])"), "(n[5,9] + m[0,4] * -1)");
  EXPECT_EQ(Shape("pad(input{0}(n[1,9]):int8, 1, 2) + pad(input{1}(n):int8, 3, 0)"),
            "(n[1,9] + 3)");
}

TEST(Shape, OfTensorOps) {
  EXPECT_EQ(Shape("reduce{add, 0, 2}(input{0}(2, 3, 4):int8)"), "(1, 3, 1)");
  EXPECT_EQ(Shape("contiguous(input{0}(2, 3):int8)"), "(2, 3)");
  EXPECT_EQ(Shape("assign(input{0}(2):int8, input{1}(2):int8)"), "(2)");
  EXPECT_EQ(Shape("copy{\"CPU\"}(input{0}(2, 3):int8)"), "(2, 3)");
  EXPECT_EQ(Shape("cast(input{0}(2, 3):int8):float32"), "(2, 3)");
  EXPECT_EQ(Shape("gradient{1}(1:int8, 1:int8, input{0}(2):int8, input{0}(3):int8)"), "(3)");
  EXPECT_EQ(Shape("bitcast(input{0}(2, 3):int32):int8"), "(2, 12)");
  EXPECT_EQ(Shape("bitcast(input{0}(2, 4):int8):int32"), "(2, 1)");
  EXPECT_EQ(Shape("bitcast(input{0}(n[1,9]):int32):int16"), "(n[1,9] * 2)");
}

TEST(Shape, OfValuesInAKernel) {
  EXPECT_EQ(Shape("stack(1, 2, 3)"), "(3)");
  EXPECT_EQ(Shape("stack(stack(1, 2, 3), stack(4, 5, 6))"), "(2, 3)");
  EXPECT_EQ(Shape("unstack{1}(stack(stack(1, 2, 3), stack(4, 5, 6)))"), "(3)");
  EXPECT_EQ(Shape("stack(1, 2, 3) * 4 + r0:8"), "(3)") << "scalars go with any shape";
  EXPECT_EQ(Shape("load(index(param{\"p\", 0, 9, global}:int8, stack(1, 2)))"), "(2)");
  EXPECT_EQ(Shape("after(load(index(param{\"p\", 0, 9, global}:int8, stack(1, 2))), barrier())"),
            "(2)");
}

TEST(Shape, SaysWhatDoesNotFit) {
  const struct {
    std::string_view text, message;
  } kCases[] = {
      {"input{0}(2):int8 + input{1}(3):int8",
       "add (node 4) needs sources of one shape, got [2] and [3]"},
      {"sin(input{0}(2):int8 + input{1}(3):int8)", "add (node 4) needs sources of one shape"},
      {"reshape(input{0}(2, 3):int8, 5)", "to [5] does not have the 6 elements of [2, 3]"},
      {"reshape(input{0}(2, 3):int8, -6, -1)", "has a dim of -6"},
      {"reshape(input{0}(2, 3):int8, 6:int32)", "needs dims of dtype index, got int32"},
      {"expand(input{0}(2, 3):int8, 4, 3)",
       "to [4, 3] changes axis 0 of [2, 3], whose size is not 1"},
      {"expand(input{0}(1):int8, 4, 3)", "of [1] needs 1 entries, got 2"},
      {"permute{0, 0}(input{0}(2, 3):int8)", "of rank 2 does not take axis 0 once"},
      {"permute{0, 2}(input{0}(2, 3):int8)", "of rank 2 does not take axis 2 once"},
      {"permute{0}(input{0}(2, 3):int8)", "of [2, 3] needs 2 entries, got 1"},
      {"flip{4}(input{0}(2, 3):int8)", "has an axis beyond [2, 3]"},
      {"pad(input{0}(2, 3):int8, 1, 1)", "of [2, 3] needs 4 entries, got 2"},
      {"pad(input{0}(2):int8, -1, 1)", "has a dim of -1"},
      {"pad(input{0}(2):int8, 9223372036854775807, 1)", "makes axis 0 of [2] larger than an int64"},
      {"shrink(input{0}(2):int8, 0, 3)", "to [0, 3) on axis 0 of [2]"},
      {"shrink(input{0}(2):int8, 2, 1)", "to [2, 1) on axis 0 of [2]"},
      {"reduce{add, 2}(input{0}(2, 3):int8)", "has an axis beyond [2, 3]"},
      {"stack(1, stack(2, 3))", "needs sources of one shape, got [] and [2]"},
      {"unstack{2}(stack(2, 3))", "takes element 2 of [2]"},
      {"unstack{0}(3)", "takes element 0 of []"},
      {"assign(input{0}(2):int8, 1:int8)", "needs sources of one shape, got [2] and []"},
      {"iota{1}(2):index", "along axis 1 of [2]"},
      {"gradient{1}(1:int8, 1:int8, 1:int8)", "with respect to source 1 of 1"},
      {"bitcast(input{0}(3):int8):int32", "of [3] from elements of 1 bytes to 4 bytes"},
      {"bitcast(input{0}(n[1,9]):int8):int32", "from elements of 1 bytes to 4 bytes"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(Shape(text), HasSubstr("INVALID_ARGUMENT: ")) << text;
    EXPECT_THAT(Shape(text), HasSubstr(std::string(message))) << text;
  }
  EXPECT_THAT(Shape("call{\"matmul\"}(1):int8"), HasSubstr("FAILED_PRECONDITION: call"));
}

TEST(Shape, IsTotal) {
  support::Random random(10);
  int shaped = 0;
  for (int run = 0; run < 500; ++run) {
    Graph g;
    RandomGraph(g, random, 100);
    const uint32_t size = g.size();
    for (UOpId id = 0; id < size; ++id) shaped += ShapeOf(g, g.At(id)).ok() ? 1 : 0;
  }
  EXPECT_GT(shaped, 1000);
}

}  // namespace
}  // namespace kiln::uop
