#include "tests/replay/graph_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/uop/facts.h"

namespace kiln::replay {
namespace {

using ::testing::HasSubstr;

absl::Status Load(RecordGraph& nodes, const std::string& text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  return json.ok() ? nodes.Load(*json) : json.status();
}

std::string Refusal(const std::string& text) {
  RecordGraph nodes;
  return std::string(Load(nodes, text).message());
}

TEST(GraphJson, EqualFixtureNodesAreOneNode) {
  RecordGraph nodes;
  ASSERT_TRUE(Load(nodes, R"([
    {"op": "DEFINE_VAR", "dtype": "index", "src": [], "arg": ["a", 0, 8]},
    {"op": "CONST", "dtype": "index", "src": [], "arg": 3},
    {"op": "ADD", "dtype": "index", "src": [0, 1], "arg": null},
    {"op": "ADD", "dtype": "index", "src": [1, 0], "arg": null},
    {"op": "ADD", "dtype": "index", "src": [0, 1], "arg": null, "tag": 1}])")
                  .ok());
  Graph& g = nodes.graph();
  EXPECT_EQ(nodes.nodes()[2], g.Add(g.Variable("a", 0, 8), g.Index(3)));
  EXPECT_EQ(nodes.nodes()[3], nodes.nodes()[2]);
  EXPECT_NE(nodes.nodes()[4], nodes.nodes()[2]);
}

TEST(GraphJson, ConstantsWrapToTheirDType) {
  RecordGraph nodes;
  ASSERT_TRUE(Load(nodes, R"([
    {"op": "CONST", "dtype": "uint8", "src": [], "arg": -1},
    {"op": "CONST", "dtype": "uint64", "src": [], "arg": 18446744073709551615},
    {"op": "CONST", "dtype": "float32", "src": [], "arg": -3.2},
    {"op": "CONST", "dtype": "float32", "src": [], "arg": "-inf"}])")
                  .ok());
  EXPECT_EQ(nodes.nodes()[0]->IntValue(), 255);
  EXPECT_EQ(nodes.nodes()[1]->arg.scalar().bits(), UINT64_MAX);
  EXPECT_EQ(nodes.nodes()[2]->arg.scalar().AsFloat(), -3.2f);
  EXPECT_EQ(nodes.nodes()[3]->arg.scalar().AsFloat(), -HUGE_VAL);
}

TEST(GraphJson, VectorsBecomeStacks) {
  RecordGraph nodes;
  ASSERT_TRUE(Load(nodes, R"([
    {"op": "VCONST", "dtype": "int32x3", "src": [], "arg": [4, 5, 6]},
    {"op": "CONST", "dtype": "int32x3", "src": [], "arg": 1},
    {"op": "ADD", "dtype": "int32x3", "src": [0, 1], "arg": null},
    {"op": "GEP", "dtype": "int32", "src": [2], "arg": [2]},
    {"op": "GEP", "dtype": "int32x2", "src": [2], "arg": [0, 2]}])")
                  .ok());
  Graph& g = nodes.graph();
  Ref sum = nodes.nodes()[2];
  ASSERT_EQ(sum->op, Op::kAdd);
  EXPECT_EQ(sum->src(0)->src(2)->IntValue(), 6);
  EXPECT_EQ(sum->src(1)->num_src, 3);
  EXPECT_EQ(sum->dtype, DType::kInt32);
  Ref lane = g.Make(Op::kUnstack, DType::kInt32, {sum}, Arg::Int(2));
  EXPECT_EQ(nodes.nodes()[3], lane);
  EXPECT_EQ(nodes.nodes()[4]->src(1), lane);
}

TEST(GraphJson, VectorLoadsBecomeLoadsOfConsecutiveElements) {
  RecordGraph nodes;
  ASSERT_TRUE(Load(nodes, R"([
    {"op": "DEFINE_GLOBAL", "dtype": {"ptr": "float32", "size": 16, "space": "global"}, "src": [], "arg": 1},
    {"op": "CONST", "dtype": "int32", "src": [], "arg": 6},
    {"op": "INDEX", "dtype": {"ptr": "float32", "size": 16, "space": "global"}, "src": [0, 1], "arg": null},
    {"op": "LOAD", "dtype": "float32x2", "src": [2], "arg": null}])")
                  .ok());
  Ref stack = nodes.nodes()[3];
  ASSERT_EQ(stack->op, Op::kStack);
  EXPECT_EQ(uop::ParamOf(nodes.nodes()[0]).elems, 16);
  EXPECT_EQ(stack->src(0)->src(0), nodes.nodes()[2]);
  EXPECT_EQ(stack->src(1)->src(0)->src(1)->IntValue(), 7);
}

TEST(GraphJson, SkipsWhatOurIrDoesNotHave) {
  RecordGraph nodes;
  const absl::Status status = Load(nodes, R"([
    {"op": "DEFINE_GLOBAL", "dtype": {"image": "imagef", "shape": [1, 2, 4]}, "src": [], "arg": 0}])");
  EXPECT_TRUE(IsReasonToSkip(status));
  EXPECT_EQ(ResultOf(status).outcome, Result::Outcome::kSkip);
  EXPECT_FALSE(IsReasonToSkip(absl::UnimplementedError("of the code under test")));
}

TEST(GraphJson, RefusesMalformedNodes) {
  EXPECT_THAT(Refusal(R"([{"op": "NEG", "dtype": "int32", "src": [0], "arg": null}])"),
              HasSubstr("source 0 does not come before it"));
  EXPECT_THAT(Refusal(R"([
    {"op": "CONST", "dtype": "int32", "src": [], "arg": 1},
    {"op": "CONST", "dtype": "int64", "src": [], "arg": 1},
    {"op": "ADD", "dtype": "int32", "src": [0, 1], "arg": null}])"),
              HasSubstr("operand 1 is int64: node 2"));
  EXPECT_THAT(Refusal(R"([{"op": "CONST", "dtype": "int32x99999999", "src": [], "arg": 1}])"),
              HasSubstr("not a dtype"));
  EXPECT_THAT(Refusal(R"([{"op": "DEFINE_VAR", "dtype": "index", "src": [], "arg": ["a", 1, 0]}])"),
              HasSubstr("min is not at most max"));
}

TEST(GraphJson, NamesOpsWithoutAValue) {
  RecordGraph nodes;
  ASSERT_TRUE(Load(nodes, R"([
    {"op": "DEFINE_VAR", "dtype": "index", "src": [], "arg": ["a", 0, 8]},
    {"op": "SIN", "dtype": "index", "src": [0], "arg": null}])")
                  .ok());
  EXPECT_THAT(std::string(nodes.RequireDefined().message()),
              HasSubstr("sin has no value on index"));
}

}  // namespace
}  // namespace kiln::replay
