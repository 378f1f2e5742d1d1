// What a stranger's graph can have wrong: each is refused with a message that says where.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "server/graph/import.h"
#include "server/graph/node_reader.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/server/graph/graph_text.h"

namespace kiln::server {
namespace {

using kiln::support::IsOk;
using kiln::support::StatusIs;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

struct Refusal {
  const char* nodes;  // After kInput (node 0) and kInts (node 1).
  const char* message;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, NamesNodeAndField) {
  EXPECT_THAT(Import(absl::StrCat(kInput, kInts, GetParam().nodes)),
              StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Form, Refused,
    ::testing::Values(
        Refusal{"nodes { }", "node 2 (unspecified), op: it is missing"},
        Refusal{"nodes { op: OP_NEG }", "node 2 (neg), src: 0 given, it takes 1"},
        Refusal{"nodes { op: OP_NEG src: [0, 0] }", "node 2 (neg), src: 2 given, it takes 1"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_INT8 src: 0 constant { int_value: 1 } }",
                "node 2 (const), src: 1 given, it takes 0"},
        Refusal{"nodes { op: OP_NEG src: 2 }", "src 0: node 2 does not come before node 2"},
        Refusal{"nodes { op: OP_ADD src: [0, 4294967295] }",
                "src 1: node 4294967295 does not come before node 2"},
        Refusal{"nodes { op: OP_NEG src: 0 axes { axes: 0 } }",
                "node 2 (neg), arg: axes given, it takes none"},
        Refusal{"nodes { op: OP_RESHAPE src: 0 }",
                "node 2 (reshape), arg: none given, it takes dims"},
        Refusal{"nodes { op: OP_PERMUTE src: 0 dims { } }",
                "node 2 (permute), arg: dims given, it takes axes"},
        Refusal{"nodes { op: OP_CAST src: 0 }", "node 2 (cast), dtype: it is missing"},
        Refusal{"nodes { op: OP_INPUT input { slot: 2 } }", "node 2 (input), dtype: it is missing"},
        Refusal{"nodes { op: OP_NEG src: 0 dtype: DTYPE_FLOAT64 }",
                "node 2 (neg), dtype: float64 given, it is float32"},
        Refusal{"nodes { op: OP_VARIABLE dtype: DTYPE_INT32 variable { name: \"n\" } }",
                "dtype: int32 given, it is index"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, Refused,
    ::testing::Values(
        Refusal{"nodes { op: OP_RESHAPE src: 0 dims { dims { value: 6 } dims { } } }",
                "node 2 (reshape), dims[1]: neither value nor node"},
        Refusal{"nodes { op: OP_RESHAPE src: 0 dims { dims { node: 5 } } }",
                "dims[0]: node 5 does not come before node 2"},
        Refusal{"nodes { op: OP_RESHAPE src: 0 dims { dims { node: 1 } } }",
                "dims[0]: node 1 has dtype int32, a size has dtype index"},
        Refusal{"nodes { op: OP_RESHAPE src: 0 dims { dims { value: 7 } } }", "node 2 (reshape)"},
        Refusal{"nodes { op: OP_EXPAND src: 0 dims { dims { value: -2 } dims { value: 3 } } }",
                "node 2 (expand), dims"},
        Refusal{"nodes { op: OP_PAD src: 0 dims { dims { value: 1 } } }", "node 2 (pad)"},
        Refusal{"nodes { op: OP_SHRINK src: 0 dims { dims { value: 0 } dims { value: 9 } "
                "dims { value: 0 } dims { value: 1 } } }",
                "node 2 (shrink)"},
        Refusal{"nodes { op: OP_PERMUTE src: 0 axes { axes: [0, 0] } }", "axis 0 is named twice"},
        Refusal{"nodes { op: OP_FLIP src: 0 axes { axes: -1 } }", "no axis -1, there are 2"},
        Refusal{"nodes { op: OP_REDUCE src: 0 reduce { axes: 0 } }",
                "reduce.op: it must be one of add, mul and max"},
        Refusal{"nodes { op: OP_REDUCE src: 0 reduce { op: REDUCE_OP_ADD } }",
                "axes: there are none"},
        Refusal{"nodes { op: OP_ALLREDUCE src: 0 reduce { op: REDUCE_OP_ADD axes: 0 } }",
                "reduce.axes: 1 given, it takes none"},
        Refusal{"nodes { op: OP_IOTA dtype: DTYPE_FLOAT32 iota { dims { value: 2 } } }",
                "node 2 (iota), dtype"},
        Refusal{"nodes { op: OP_IOTA dtype: DTYPE_INT8 iota { dims { value: 2 } axis: 1 } }",
                "no axis 1, there are 1"},
        Refusal{"nodes { op: OP_INPUT dtype: DTYPE_INT32 input { slot: 0 dims { value: 2 } "
                "dims { value: 3 } } }",
                "slot: input 0 has another shape or dtype before"},
        Refusal{"nodes { op: OP_VARIABLE variable { name: \"n\" min: 3 max: 2 } }",
                "3 is above the maximum, 2"},
        Refusal{"nodes { op: OP_VARIABLE variable { } }", "name: it is empty"},
        Refusal{"nodes { op: OP_COPY src: 0 device: \"\" }", "device: it is empty"},
        Refusal{"nodes { op: OP_SHARD src: 0 shard { devices: \"cpu:0\" } }",
                "devices: there are fewer than two"},
        Refusal{"nodes { op: OP_ASSIGN src: [0, 1] }",
                "value: its dtype is not that of the target"},
        Refusal{"nodes { op: OP_NEG src: 0 } nodes { op: OP_ASSIGN src: [2, 0] }",
                "node 3 (assign), target"},
        Refusal{"nodes { op: OP_ADD src: [0, 1] }", "node 2 (add)"}));

INSTANTIATE_TEST_SUITE_P(
    Constants, Refused,
    ::testing::Values(
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_INT8 constant { } }",
                "node 2 (const), constant: it has no value"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_INT8 constant { int_value: 128 } }",
                "constant: 128 is no value of int8"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_UINT8 constant { int_value: -1 } }",
                "constant: -1 is no value of uint8"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_INT64 constant { uint_value: "
                "9223372036854775808 } }",
                "constant: 9223372036854775808 is no value of int64"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_INDEX constant { uint_value: "
                "9223372036854775808 } }",
                "constant: 9223372036854775808 is no value of index"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_INT8 constant { float_value: 1 } }",
                "constant: float_value given, dtype is int8"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_BOOL constant { int_value: 1 } }",
                "constant: int_value given, dtype is bool"},
        Refusal{"nodes { op: OP_CONST dtype: DTYPE_FLOAT32 constant { bool_value: true } }",
                "constant: bool_value given, dtype is float32"}));

INSTANTIATE_TEST_SUITE_P(
    Calls, Refused,
    ::testing::Values(
        Refusal{"nodes { op: OP_CALL call { function: \"frobnicate\" } }",
                "node 2 (call frobnicate): there is no such function", absl::StatusCode::kNotFound},
        Refusal{"nodes { op: OP_CALL call { function: \"neg\" } }", "node 2 (call neg)"},
        Refusal{"nodes { op: OP_CALL src: [0, 0] call { function: \"neg\" } }",
                "node 2 (call neg)"},
        Refusal{"nodes { op: OP_CALL src: 0 call { function: \"neg\" output: 1 } }",
                "call.output: no output 1, there are 1"},
        Refusal{"nodes { op: OP_CALL src: 0 call { function: \"sum\" "
                "attributes { key: \"axes\" value { } } } }",
                "call.attributes[\"axes\"]: it has no value"},
        Refusal{"nodes { op: OP_CALL src: 0 call { function: \"sum\" "
                "attributes { key: \"axis\" value { int_value: 1 } } } }",
                "node 2 (call sum)"},
        Refusal{"nodes { op: OP_CALL src: 0 call { function: \"sum\" "
                "attributes { key: \"keepdim\" value { dtype: DTYPE_UNSPECIFIED } } } }",
                "call.attributes[\"keepdim\"]: there is no dtype 0"},
        Refusal{"nodes { op: OP_CALL src: 0 call { function: \"reshape\" "
                "attributes { key: \"dims\" value { sizes { dims { node: 3 } } } } } }",
                "node 3 does not come before node 2"}));

// Numbers that the text form can't say.
TEST(Refused, UnknownNumbers) {
  pb::Graph graph = GraphOf(kInput);
  pb::Node& node = *graph.add_nodes();
  node.set_op(static_cast<pb::Op>(99));
  node.add_src(0);
  EXPECT_THAT(ImportGraph(graph, {1}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("node 1 (op 99), op: there is no such op")));
  node.set_op(pb::OP_CAST);
  node.set_dtype(static_cast<pb::DType>(-1));
  EXPECT_THAT(ImportGraph(graph, {1}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("node 1 (cast), dtype: there is no dtype -1")));
}

// ** limits **

TEST(ImportLimits, Nodes) {
  pb::Graph graph = GraphOf(kInput);
  for (uint32_t i = 1; i < 1000; ++i) {
    pb::Node& node = *graph.add_nodes();
    node.set_op(pb::OP_NEG);
    node.add_src(i - 1);
  }
  EXPECT_THAT(ImportGraph(graph, {999}, {.nodes = 1000}), IsOk());
  EXPECT_THAT(ImportGraph(graph, {999}, {.nodes = 999}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("graph: 1000 nodes given, the limit is 999")));
}

TEST(ImportLimits, DeepGraphsAndManyEqualCallsAreFine) {
  pb::Graph graph = GraphOf(kInput);
  for (uint32_t i = 1; i < 100'000; ++i) {
    pb::Node& node = *graph.add_nodes();
    node.set_op(i % 2 == 0 ? pb::OP_SIN : pb::OP_NEG);
    node.add_src(i - 1);
  }
  for (int i = 0; i < 10'000; ++i) {
    pb::Node& node = *graph.add_nodes();
    node.set_op(pb::OP_CALL);
    node.add_src(0);
    node.mutable_call()->set_function("softmax");
  }
  EXPECT_THAT(ImportGraph(graph, {109'999}, {}), IsOk());
}

TEST(ImportLimits, ListsInAll) {
  pb::Graph graph = GraphOf(kInput);
  pb::Node& node = *graph.add_nodes();
  node.set_op(pb::OP_FLIP);
  node.add_src(0);
  for (int i = 0; i < 100; ++i) node.mutable_axes()->add_axes(0);
  EXPECT_THAT(ImportGraph(graph, {1}, {.dims = 40}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("node 1 (flip), axes: more than the limit of 80 ")));
}

TEST(ImportLimits, NamesAndMessages) {
  pb::Graph graph = GraphOf(kInput);
  pb::Node& node = *graph.add_nodes();
  node.set_op(pb::OP_CALL);
  node.mutable_call()->set_function(std::string(100'000, 'f'));
  EXPECT_THAT(ImportGraph(graph, {1}, {}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("call.function: it has 100000 bytes, the limit is 256")));
  // A list that the message repeats.
  node.mutable_call()->set_function("sum");
  node.add_src(0);
  pb::AttributeValue& value = (*node.mutable_call()->mutable_attributes())["keepdim"];
  for (int i = 0; i < 100'000; ++i) value.mutable_ints()->add_values(i);
  const auto refused = ImportGraph(graph, {1}, {});
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument, SizeIs(Le(2100))));
  EXPECT_EQ(refused.status().GetPayload(kNodePayload), "1");
}

TEST(ImportLimits, LabelsAreCutBetweenCharacters) {
  EXPECT_EQ(CutText("abc", 3), "abc");
  EXPECT_EQ(CutText("abc", 2), "ab");
  EXPECT_EQ(CutText("a\u00e9b", 2), "a");
  EXPECT_EQ(CutText("a\u00e9b", 3), "a\u00e9");
  EXPECT_EQ(CutText("\U0001F600", 3), "");
  pb::Graph graph = GraphOf(kInput);
  std::string label;
  for (int i = 0; i < 200; ++i) label += "\u20ac";
  graph.mutable_nodes(0)->set_label(label);
  const auto imported = ImportGraph(graph, {0}, {});
  ASSERT_THAT(imported, IsOk());
  ASSERT_EQ(imported->labels.size(), 1);
  EXPECT_EQ(imported->labels[0].second, label.substr(0, 255));
}

}  // namespace
}  // namespace kiln::server
