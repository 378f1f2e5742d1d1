// ASSIGN: which places can be written to, and in which order; devices and shards.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/render.h"
#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr DType kF32 = DType::kFloat32;

TEST(Assign, WritesToInputsAndMovementsOfThem) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4, 6}), v = b.Input(1, kF32, {4, 6});
  KILN_EXPECT_OK(b.Assign(x, v));
  KILN_EXPECT_OK(b.Assign(b.Reshape(x, {6, 4}), b.Reshape(v, {6, 4})));
  KILN_EXPECT_OK(b.Assign(b.Flip(b.Permute(x, {1, 0}), {0}), b.Permute(v, {1, 0})));
  KILN_EXPECT_OK(b.Assign(b.Shrink(x, {1, 2, 0, 6}), b.Shrink(v, {0, 1, 0, 6})));
  KILN_EXPECT_OK(b.Assign(b.Expand(x, {4, 6}), v));  // Repeats nothing.
}

TEST(Assign, WritesToWhatAnotherAssignWritesTo) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), v = b.Input(1, kF32, {4});
  auto first = b.Assign(x, v);
  auto second = b.Assign(b.Shrink(first, {0, 2}), b.Shrink(v, {2, 4}));
  KILN_ASSERT_OK(second);
  KILN_EXPECT_OK(std::move(b).Finish({second, first}));
}

TEST(Assign, RefusesWhatIsNoPlace) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), v = b.Input(1, kF32, {4});
  const auto no_place = StatusIs(kInvalid, HasSubstr("target: it is no input"));
  EXPECT_THAT(b.Assign(b.Alu(Op::kNeg, {x}), v), no_place);
  EXPECT_THAT(b.Assign(b.Contiguous(x), v), no_place);
  EXPECT_THAT(b.Assign(b.Copy(x, "cpu:1"), v), no_place);
  EXPECT_THAT(
      b.Assign(b.Expand(b.Reshape(x, {4, 1}), {4, 3}), b.Expand(b.Reshape(v, {4, 1}), {4, 3})),
      no_place);
  EXPECT_THAT(b.Assign(b.Bitcast(x, DType::kInt32), b.Bitcast(v, DType::kInt32)), no_place);
  EXPECT_THAT(b.Assign(x, b.Reshape(v, {2, 2})), StatusIs(kInvalid, HasSubstr("value: its shape")));
  EXPECT_THAT(b.Assign(x, b.Cast(v, DType::kInt8)),
              StatusIs(kInvalid, HasSubstr("value: its dtype")));
}

TEST(Assign, PaddingMustBeCutOffAgain) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {6}), v = b.Input(1, kF32, {8});
  auto padded = b.Pad(x, {0, 2});
  EXPECT_THAT(b.Assign(padded, v), StatusIs(kInvalid, HasSubstr("target: a pad adds elements")));
  // Every other of the first 6 of 8 elements: [8] -> [4, 2] -> [3, 1].
  auto pairs = b.Shrink(b.Reshape(padded, {4, 2}), {0, 3, 0, 1});
  KILN_EXPECT_OK(b.Assign(pairs, b.Reshape(b.Shrink(v, {0, 3}), {3, 1})));
}

TEST(Assign, ManyMovementsWithAPadAreBeyondALimit) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {6});
  auto y = b.Shrink(b.Pad(x, {0, 2}), {0, 6});
  for (int i = 0; i < 70; ++i) y = b.Flip(y, {0});
  EXPECT_THAT(b.Assign(y, x), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("target")));
}

TEST(Assign, IndependentWritesToOneInputAreRefused) {
  const auto build = [](bool ordered) {
    GraphBuilder b;
    auto x = b.Input(0, kF32, {4});
    auto first = b.Assign(b.Shrink(x, {0, 2}), b.Shrink(x, {2, 4}));
    auto whole = b.Pad(ordered ? first : b.Shrink(x, {1, 3}), {1, 1});
    auto second = b.Assign(x, b.Alu(Op::kNeg, {whole}));
    return std::move(b).Finish({first, second}).status();
  };
  KILN_EXPECT_OK(build(true));
  EXPECT_THAT(build(false), StatusIs(kInvalid, HasSubstr("do not depend on each other")));
}

TEST(Assign, WritesThatNoOutputNeedsDoNotCount) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4});
  KILN_ASSERT_OK(b.Assign(x, b.Alu(Op::kNeg, {x})));
  auto other = b.Assign(x, b.Alu(Op::kSin, {x}));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph g, std::move(b).Finish({other}));
  EXPECT_EQ(g.sink->num_src, 1);
}

// ** devices **

TEST(Shard, KeepsTheShapeOfTheWhole) {
  GraphBuilder b;
  auto x = b.Shard(b.Input(0, kF32, {4, 6}), {"cpu:0", "cpu:1"}, 0);
  auto y = b.Alu(Op::kMul, {x, x});
  auto z = b.Unshard(b.Permute(b.Reshape(y, {4, 2, 3}), {1, 0, 2}));
  EXPECT_EQ(b.ShapeOf(*z)->size(), 3);
  KILN_EXPECT_OK(b.AllReduce(Op::kAdd, x));
  KILN_EXPECT_OK(b.Unshard(b.Reduce(Op::kAdd, x, {0})));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph g, std::move(b).Finish({z}));
  EXPECT_THAT(g.devices, ::testing::ElementsAre("cpu:0", "cpu:1"));
}

TEST(Shard, RefusesWrongFields) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4, 6});
  EXPECT_THAT(b.Shard(x, {"a"}, 0), StatusIs(kInvalid, HasSubstr("devices: there are fewer")));
  EXPECT_THAT(b.Shard(x, {"a", "a"}, 0), StatusIs(kInvalid, HasSubstr("\"a\" is named twice")));
  EXPECT_THAT(b.Shard(x, {"a", "b,c"}, 0), StatusIs(kInvalid, HasSubstr("a comma")));
  EXPECT_THAT(b.Shard(x, {"a", ""}, 0), StatusIs(kInvalid, HasSubstr("devices: it is empty")));
  EXPECT_THAT(b.Shard(x, {"a", "b"}, 2), StatusIs(kInvalid, HasSubstr("axis: no axis 2")));
  EXPECT_THAT(b.Shard(x, {"a", "b", "c"}, 0), StatusIs(kInvalid, HasSubstr("no 3 equal pieces")));
  EXPECT_THAT(b.Copy(x, ""), StatusIs(kInvalid, HasSubstr("(copy), device")));
  EXPECT_THAT(b.Unshard(x), StatusIs(kInvalid, HasSubstr("not sharded")));
  EXPECT_THAT(b.AllReduce(Op::kAdd, x), StatusIs(kInvalid, HasSubstr("not sharded")));
  auto sharded = b.Shard(x, {"a", "b"}, 0);
  EXPECT_THAT(b.AllReduce(Op::kSub, sharded), StatusIs(kInvalid, HasSubstr("(allreduce), op")));
}

TEST(Shard, PiecesStayWhole) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4, 6});
  auto s = b.Shard(x, {"a", "b"}, 0);
  const auto torn = StatusIs(kInvalid, HasSubstr("placement: "));
  EXPECT_THAT(b.Shrink(s, {0, 2, 0, 6}), torn);
  EXPECT_THAT(b.Pad(s, {0, 2, 0, 0}), torn);
  EXPECT_THAT(b.Flip(s, {0}), torn);
  EXPECT_THAT(b.Reshape(s, {3, 8}), torn);
  EXPECT_THAT(b.Shard(s, {"a", "b"}, 0), torn);
  EXPECT_THAT(b.Copy(s, "a"), torn);
  EXPECT_THAT(b.Assign(x, s), torn);
  EXPECT_THAT(b.Alu(Op::kAdd, {s, b.Shard(x, {"a", "b"}, 1)}), torn);
  EXPECT_THAT(b.Alu(Op::kAdd, {s, b.Shard(x, {"a", "c"}, 0)}), torn);
  KILN_EXPECT_OK(b.Alu(Op::kAdd, {s, x}));
  KILN_EXPECT_OK(b.Alu(Op::kAdd, {b.Shard(x, {"a", "b"}, std::nullopt), s}));
  KILN_EXPECT_OK(b.Shrink(s, {0, 4, 1, 3}));
}

TEST(Shard, EqualPiecesOfASymbolicSizeAreACondition) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 9);
  auto s = b.Shard(b.Input(0, kF32, {n}), {"a", "b"}, 0);
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph g, std::move(b).Finish({s}));
  ASSERT_EQ(g.conditions.size(), 1);
}

}  // namespace
}  // namespace kiln::tensor
