#include "tests/support/tensor_evaluator.h"

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::support {
namespace {

using tensor::GraphBuilder;
using tensor::Source;
using tensor::TensorGraph;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kI32 = DType::kInt32;

std::vector<std::byte> Bytes(std::initializer_list<int32_t> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::vector<int32_t> Values(const std::vector<std::byte>& bytes) {
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

absl::StatusOr<TensorResults> Evaluate(GraphBuilder b, std::initializer_list<Source> outputs,
                                       const TensorRun& run) {
  KILN_ASSIGN_OR_RETURN(const TensorGraph graph, std::move(b).Finish(outputs));
  return EvaluateTensors(graph, run);
}

TEST(TensorEvaluator, MovesElements) {
  GraphBuilder b;
  auto x = b.Input(0, kI32, {2, 3});
  auto padded = b.Pad(b.Flip(x, {1}), {0, 1, 1, 0});
  auto across = b.Shrink(b.Permute(x, {1, 0}), {1, 3, 0, 2});
  auto repeated = b.Expand(b.Reshape(x, {6, 1}), {6, 2});
  KILN_ASSERT_OK_AND_ASSIGN(const TensorResults r,
                            Evaluate(std::move(b), {padded, across, repeated},
                                     {.inputs = {{0, Bytes({1, 2, 3, 4, 5, 6})}}, .var_vals = {}}));
  EXPECT_THAT(r.outputs[0].shape, ElementsAre(3, 4));
  EXPECT_THAT(Values(r.outputs[0].bytes), ElementsAre(0, 3, 2, 1, 0, 6, 5, 4, 0, 0, 0, 0));
  EXPECT_THAT(Values(r.outputs[1].bytes), ElementsAre(2, 5, 3, 6));
  EXPECT_THAT(Values(r.outputs[2].bytes), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
}

TEST(TensorEvaluator, ComputesAndReduces) {
  GraphBuilder b;
  auto x = b.Input(0, kI32, {2, 3});
  auto sum = b.Reduce(Op::kAdd, b.Alu(Op::kMul, {x, b.Iota(kI32, {2, 3}, 1)}), {1});
  auto most = b.Reduce(Op::kMax, x, {0, 1});
  auto none = b.Reduce(Op::kMul, b.Shrink(x, {0, 0, 0, 3}), {0});
  KILN_ASSERT_OK_AND_ASSIGN(const TensorResults r,
                            Evaluate(std::move(b), {sum, most, none},
                                     {.inputs = {{0, Bytes({1, 2, 3, 4, 5, 6})}}, .var_vals = {}}));
  EXPECT_THAT(Values(r.outputs[0].bytes), ElementsAre(8, 17));
  EXPECT_THAT(Values(r.outputs[1].bytes), ElementsAre(6));
  EXPECT_THAT(Values(r.outputs[2].bytes), ElementsAre(1, 1, 1));
}

TEST(TensorEvaluator, AnInputReadDirectlyHasItsOldContents) {
  GraphBuilder b;
  auto x = b.Input(0, kI32, {4});
  auto written = b.Assign(b.Shrink(x, {0, 2}), b.Shrink(x, {2, 4}));
  auto again = b.Assign(b.Flip(x, {0}), b.Alu(Op::kAdd, {x, b.Pad(written, {0, 2})}));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorResults r,
                            Evaluate(std::move(b), {again, x, written},
                                     {.inputs = {{0, Bytes({1, 2, 3, 4})}}, .var_vals = {}}));
  EXPECT_THAT(Values(r.outputs[0].bytes), ElementsAre(4, 6, 3, 4));
  EXPECT_THAT(Values(r.outputs[1].bytes), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values(r.outputs[2].bytes), ElementsAre(3, 4));
  EXPECT_THAT(Values(r.assigned.at(0)), ElementsAre(4, 3, 6, 4));
}

TEST(TensorEvaluator, TheLaterOfTwoWritesWins) {
  GraphBuilder b;
  auto x = b.Input(0, kI32, {4});
  auto first = b.Assign(x, b.Alu(Op::kNeg, {x}));
  auto second = b.Assign(b.Shrink(first, {1, 2}), b.Shrink(x, {3, 4}));
  KILN_ASSERT_OK_AND_ASSIGN(
      const TensorResults r,
      Evaluate(std::move(b), {second}, {.inputs = {{0, Bytes({1, 2, 3, 4})}}, .var_vals = {}}));
  EXPECT_THAT(Values(r.assigned.at(0)), ElementsAre(-1, 4, -3, -4));
}

TEST(TensorEvaluator, SizesFollowVariables) {
  const auto run = [](int64_t n) {
    GraphBuilder b;
    auto v = b.Variable("n", 1, 4);
    auto x = b.Shrink(b.Input(0, kI32, {4}), {0, v});
    auto scaled = b.Alu(Op::kMul, {x, b.Expand(b.Reshape(b.Cast(v, kI32), {1}), {v})});
    return Evaluate(std::move(b), {scaled},
                    {.inputs = {{0, Bytes({1, 2, 3, 4})}}, .var_vals = {{"n", n}}});
  };
  KILN_ASSERT_OK_AND_ASSIGN(const TensorResults r, run(3));
  EXPECT_THAT(Values(r.outputs[0].bytes), ElementsAre(3, 6, 9));
  EXPECT_THAT(run(5), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TensorEvaluator, ConditionsAreChecked) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 9), m = b.Variable("m", 1, 9);
  auto y = b.Reshape(b.Reshape(b.Shrink(b.Input(0, kI32, {9}), {0, n}), {m}), {1, m});
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph graph, std::move(b).Finish({y}));
  TensorRun run{.inputs = {{0, Bytes({1, 2, 3, 4, 5, 6, 7, 8, 9})}},
                .var_vals = {{"n", 4}, {"m", 4}}};
  KILN_EXPECT_OK(EvaluateTensors(graph, run));
  run.var_vals["m"] = 5;
  EXPECT_THAT(EvaluateTensors(graph, run),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not satisfy")));
}

TEST(TensorEvaluator, ShardsCombine) {
  GraphBuilder b;
  auto x = b.Shard(b.Input(0, kI32, {4}), {"a", "b"}, 0);
  auto sum = b.Unshard(b.AllReduce(Op::kAdd, b.Alu(Op::kNeg, {x})));
  auto copies = b.Unshard(b.AllReduce(Op::kMul, b.Shard(b.Input(0, kI32, {4}), {"a", "b"}, {})));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorResults r,
                            Evaluate(std::move(b), {sum, copies},
                                     {.inputs = {{0, Bytes({1, 2, 3, 4})}}, .var_vals = {}}));
  EXPECT_THAT(Values(r.outputs[0].bytes), ElementsAre(-4, -6, -4, -6));
  EXPECT_THAT(Values(r.outputs[1].bytes), ElementsAre(1, 4, 9, 16));
}

TEST(TensorEvaluator, MissingInputsAreErrors) {
  GraphBuilder b;
  auto x = b.Alu(Op::kNeg, {b.Input(0, kI32, {4})});
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph graph, std::move(b).Finish({x}));
  EXPECT_THAT(EvaluateTensors(graph, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("slot 0")));
}

}  // namespace
}  // namespace kiln::support
