#include "server/graph/import.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/server/graph/graph_text.h"

namespace kiln::server {
namespace {

using kiln::support::IsOk;
using kiln::support::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::StrEq;

// ** what each op becomes **

struct Op1 {
  const char* nodes;  // After kInput (node 0) and kInts (node 1).
  const char* want;
};

class ImportOp : public ::testing::TestWithParam<Op1> {};

TEST_P(ImportOp, MakesTheNode) {
  const auto graph = Import(absl::StrCat(kInput, kInts, GetParam().nodes));
  EXPECT_THAT(TextOf(graph), StrEq(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Leaves, ImportOp,
    ::testing::Values(
        Op1{"nodes { op: OP_CONST dtype: DTYPE_BOOL constant { bool_value: true } }", "true"},
        Op1{"nodes { op: OP_CONST dtype: DTYPE_INT8 constant { int_value: -128 } }", "-128:int8"},
        Op1{"nodes { op: OP_CONST dtype: DTYPE_UINT64 "
            "constant { uint_value: 18446744073709551615 } }",
            "18446744073709551615:uint64"},
        Op1{"nodes { op: OP_CONST dtype: DTYPE_FLOAT16 constant { float_value: 0.1 } }",
            "0.1:float16"},
        Op1{"nodes { op: OP_CONST dtype: DTYPE_FLOAT32 constant { int_value: 16777217 } }",
            "16777216.0:float32"},
        Op1{"nodes { op: OP_IOTA dtype: DTYPE_INT64 iota { dims { value: 4 } axis: 0 } }",
            "iota{0}(4):int64"}));

INSTANTIATE_TEST_SUITE_P(
    Movement, ImportOp,
    ::testing::Values(
        Op1{"nodes { op: OP_RESHAPE src: 0 dims { dims { value: 6 } } }",
            "reshape(input{0}(2, 3):float32, 6)"},
        Op1{"nodes { op: OP_RESHAPE src: 0 dims { dims { value: 1 } dims { value: 6 } } } "
            "nodes { op: OP_EXPAND src: 2 dims { dims { value: 4 } dims { value: 6 } } }",
            "expand(reshape(input{0}(2, 3):float32, 1, 6), 4, 6)"},
        Op1{"nodes { op: OP_PERMUTE src: 0 axes { axes: 1 axes: 0 } }",
            "permute{1, 0}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_FLIP src: 0 axes { axes: 1 } }", "flip{2}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_PAD src: 0 dims { dims { value: 0 } dims { value: 1 } "
            "dims { value: 2 } dims { value: 0 } } }",
            "pad(input{0}(2, 3):float32, 0, 1, 2, 0)"},
        Op1{"nodes { op: OP_SHRINK src: 0 dims { dims { value: 0 } dims { value: 1 } "
            "dims { value: 2 } dims { value: 3 } } }",
            "shrink(input{0}(2, 3):float32, 0, 1, 2, 3)"}));

INSTANTIATE_TEST_SUITE_P(
    Elementwise, ImportOp,
    ::testing::Values(
        Op1{"nodes { op: OP_CAST dtype: DTYPE_FLOAT64 src: 0 }",
            "cast(input{0}(2, 3):float32):float64"},
        Op1{"nodes { op: OP_BITCAST dtype: DTYPE_UINT32 src: 0 }",
            "bitcast(input{0}(2, 3):float32):uint32"},
        Op1{"nodes { op: OP_NEG src: 0 }", "-input{0}(2, 3):float32"},
        Op1{"nodes { op: OP_RECIP src: 0 }", "recip(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_SQRT src: 0 }", "sqrt(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_EXP2 src: 0 }", "exp2(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_LOG2 src: 0 }", "log2(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_SIN src: 0 }", "sin(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_TRUNC src: 0 }", "trunc(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_ADD src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 + %0"},
        Op1{"nodes { op: OP_SUB src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 - %0"},
        Op1{"nodes { op: OP_MUL src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 * %0"},
        Op1{"nodes { op: OP_FDIV src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 / %0"},
        Op1{"nodes { op: OP_IDIV src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 / %0"},
        Op1{"nodes { op: OP_MOD src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 % %0"},
        Op1{"nodes { op: OP_MAX src: [1, 1] }", "%0 = input{1}(2, 3):int32; max(%0, %0)"},
        Op1{"nodes { op: OP_POW src: [0, 0] }", "%0 = input{0}(2, 3):float32; pow(%0, %0)"},
        Op1{"nodes { op: OP_CMPLT src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 < %0"},
        Op1{"nodes { op: OP_CMPNE src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 != %0"},
        Op1{"nodes { op: OP_CMPEQ src: [0, 0] }", "%0 = input{0}(2, 3):float32; %0 == %0"},
        Op1{"nodes { op: OP_AND src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 & %0"},
        Op1{"nodes { op: OP_OR src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 | %0"},
        Op1{"nodes { op: OP_XOR src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 ^ %0"},
        Op1{"nodes { op: OP_SHL src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 << %0"},
        Op1{"nodes { op: OP_SHR src: [1, 1] }", "%0 = input{1}(2, 3):int32; %0 >> %0"},
        Op1{"nodes { op: OP_CAST dtype: DTYPE_UINT64 src: 1 } "
            "nodes { op: OP_THREEFRY src: [2, 2] }",
            "%0 = cast(input{1}(2, 3):int32):uint64; threefry(%0, %0)"},
        Op1{"nodes { op: OP_CMPLT src: [0, 0] } nodes { op: OP_WHERE src: [2, 1, 1] }",
            "%0 = input{0}(2, 3):float32; %1 = input{1}(2, 3):int32; where(%0 < %0, %1, %1)"},
        Op1{"nodes { op: OP_MULACC src: [0, 0, 0] }",
            "%0 = input{0}(2, 3):float32; mulacc(%0, %0, %0)"}));

INSTANTIATE_TEST_SUITE_P(
    Tensors, ImportOp,
    ::testing::Values(
        Op1{"nodes { op: OP_REDUCE src: 0 reduce { op: REDUCE_OP_ADD axes: 1 } }",
            "reduce{add, 1}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_REDUCE src: 0 reduce { op: REDUCE_OP_MUL axes: [0, 1] } }",
            "reduce{mul, 0, 1}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_REDUCE src: 0 reduce { op: REDUCE_OP_MAX axes: 0 } }",
            "reduce{max, 0}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_CONTIGUOUS src: 0 }", "contiguous(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_DETACH src: 0 }", "detach(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_NEG src: 0 } nodes { op: OP_ASSIGN src: [0, 2] }",
            "%0 = input{0}(2, 3):float32; assign(%0, -%0)"},
        Op1{"nodes { op: OP_COPY src: 0 device: \"cpu:1\" }",
            "copy{\"cpu:1\"}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_SHARD src: 0 shard { devices: [\"cpu:0\", \"cpu:1\"] axis: 0 } }",
            "shard{\"cpu:0,cpu:1\", 0}(input{0}(2, 3):float32)"},
        Op1{"nodes { op: OP_SHARD src: 0 shard { devices: [\"cpu:0\", \"cpu:1\"] } } "
            "nodes { op: OP_UNSHARD src: 2 }",
            "unshard(shard{\"cpu:0,cpu:1\"}(input{0}(2, 3):float32))"},
        Op1{"nodes { op: OP_SHARD src: 0 shard { devices: [\"cpu:0\", \"cpu:1\"] } } "
            "nodes { op: OP_ALLREDUCE src: 2 reduce { op: REDUCE_OP_ADD } }",
            "allreduce{add}(shard{\"cpu:0,cpu:1\"}(input{0}(2, 3):float32))"},
        Op1{"nodes { op: OP_CALL src: 0 call { function: \"neg\" } }", "-input{0}(2, 3):float32"},
        Op1{"nodes { op: OP_MUL src: [0, 0] } "
            "nodes { op: OP_GRADIENT src: [2, 0] gradient { which: 0 } }",
            "%0 = input{0}(2, 3):float32; %0 + %0"}));

TEST(ImportGraph, SizesMayBeVariables) {
  const auto graph = Import(
      "nodes { op: OP_VARIABLE variable { name: \"n\" min: 1 max: 64 } } "
      "nodes { op: OP_CONST dtype: DTYPE_INDEX constant { int_value: 2 } } "
      "nodes { op: OP_MUL dtype: DTYPE_INDEX src: [0, 1] } "
      "nodes { op: OP_INPUT dtype: DTYPE_FLOAT32 input { dims { node: 2 } device: \"cpu:1\" } } "
      "nodes { op: OP_RESHAPE src: 3 dims { dims { value: 2 } dims { node: 0 } } }");
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ(graph->variables.size(), 1);
  ASSERT_EQ(graph->inputs.size(), 1);
  EXPECT_EQ(graph->inputs[0].device, "cpu:1");
}

TEST(ImportGraph, GivesTheOutputsInOrder) {
  const auto graph = Import(absl::StrCat(kInput, "nodes { op: OP_NEG src: 0 }"), {1, 0, 1});
  ASSERT_THAT(graph, IsOk());
  ASSERT_EQ(graph->sink->num_src, 3);
  EXPECT_TRUE(graph->sink->src(0)->Is(Op::kNeg));
  EXPECT_TRUE(graph->sink->src(1)->Is(Op::kInput));
  EXPECT_EQ(graph->sink->src(2), graph->sink->src(0));
}

TEST(ImportGraph, KeepsLabels) {
  const auto graph = Import(absl::StrCat(kInput, "nodes { op: OP_NEG src: 0 label: \"l1.neg\" }"));
  ASSERT_THAT(graph, IsOk());
  ASSERT_EQ(graph->labels.size(), 1);
  EXPECT_EQ(graph->labels[0].second, "l1.neg");
}

// ** CALL **

TEST(ImportGraph, EqualCallsAreOne) {
  const auto graph =
      Import(absl::StrCat(kInput,
                          "nodes { op: OP_CALL src: 0 call { function: \"sort\" } label: \"a\" } "
                          "nodes { op: OP_CALL src: 0 call { function: \"sort\" output: 1 } } "
                          "nodes { op: OP_CALL src: 0 call { function: \"sort\" } label: \"b\" } "),
             {1, 2, 3});
  const auto once = Import(
      absl::StrCat(kInput, "nodes { op: OP_CALL src: 0 call { function: \"sort\" } } "), {1});
  ASSERT_THAT(graph, IsOk());
  ASSERT_THAT(once, IsOk());
  EXPECT_EQ(graph->sink->src(0), graph->sink->src(2));
  EXPECT_NE(graph->sink->src(0), graph->sink->src(1));
  EXPECT_EQ(graph->sink->src(1)->dtype, DType::kInt64);
  // Nothing was expanded again: only the sinks differ.
  EXPECT_EQ(graph->graph->size(), once->graph->size());
}

TEST(ImportGraph, CallsWithOtherAttributesAreOthers) {
  const auto graph =
      Import(absl::StrCat(kInput,
                          "nodes { op: OP_CALL src: 0 call { function: \"sum\" "
                          "attributes { key: \"axes\" value { ints { values: 0 } } } } } "
                          "nodes { op: OP_CALL src: 0 call { function: \"sum\" "
                          "attributes { key: \"axes\" value { ints { values: 1 } } } } }"),
             {1, 2});
  ASSERT_THAT(graph, IsOk());
  EXPECT_NE(graph->sink->src(0), graph->sink->src(1));
}

TEST(ImportGraph, MessagesKeepTheSendersNumbersAfterCalls) {
  EXPECT_THAT(
      Import(absl::StrCat(kInput,
                          "nodes { op: OP_CALL src: 0 call { function: \"sort\" } } "
                          "nodes { op: OP_CALL src: 0 call { function: \"sort\" output: 1 } } "
                          "nodes { op: OP_PERMUTE src: 2 axes { axes: 7 } label: \"bad one\" }")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("node 3 \"bad one\" (permute), axes")));
  EXPECT_THAT(Import(absl::StrCat(
                  "nodes { op: OP_VARIABLE variable { name: \"n\" min: 1 max: 2 } } ", kInput,
                  "nodes { op: OP_CALL src: 1 call { function: \"sort\" } } "
                  "nodes { op: OP_CALL src: 1 call { function: \"sort\" output: 1 } } "
                  "nodes { op: OP_CALL src: 1 call { function: \"sort\" output: 1 } } "
                  "nodes { op: OP_VARIABLE variable { name: \"m\" min: 1 max: 2 } } "
                  "nodes { op: OP_NEG src: 1 } nodes { op: OP_CONTIGUOUS src: 5 } ")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("node 7 (contiguous)"), HasSubstr("node 5 has dtype"))));
}

TEST(ImportGraph, OptionalInputsMayBeOmitted) {
  // layer_norm(x, weight?, bias?): a bias without a weight.
  const std::string x = absl::StrCat(
      kInput, "nodes { op: OP_INPUT dtype: DTYPE_FLOAT32 input { slot: 1 dims { value: 3 } } }");
  const auto call = [&](const char* rest) {
    return Import(absl::StrCat(
        x, "nodes { op: OP_CALL src: [0, 1] call { function: \"layer_norm\" ", rest, " } }"));
  };
  const auto scaled = call("");
  const auto shifted = call("omitted: 1");
  ASSERT_THAT(scaled, IsOk());
  ASSERT_THAT(shifted, IsOk());
  EXPECT_NE(TextOf(scaled), TextOf(shifted));
  EXPECT_THAT(call("omitted: 0"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x")));
  EXPECT_THAT(call("omitted: [1, 1]"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("call.omitted")));
  EXPECT_THAT(call("omitted: 9"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("call.omitted")));
}

// ** GRADIENT **

TEST(ImportGraph, GradientsTakeASeed) {
  const std::string y = absl::StrCat(kInput, "nodes { op: OP_MUL src: [0, 0] } ");
  EXPECT_THAT(Import(absl::StrCat(y,
                                  "nodes { op: OP_GRADIENT src: [1, 0, 0, 0] "
                                  "gradient { which: 1 has_seed: true } }")),
              IsOk());
  EXPECT_THAT(Import(absl::StrCat(y,
                                  "nodes { op: OP_GRADIENT src: [1, 0] "
                                  "gradient { which: 0 has_seed: true } }")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gradient.which")));
  EXPECT_THAT(
      Import(absl::StrCat(y, "nodes { op: OP_GRADIENT src: [1, 0] gradient { which: 1 } }")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no x 1, there are 1")));
}

// ** no graph **

TEST(ImportGraph, OutputsMustBeTensorsOfTheGraph) {
  EXPECT_THAT(Import(kInput, {1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("outputs[0]: no node 1, there are 1")));
  EXPECT_THAT(ImportGraph(GraphOf(kInput), {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("outputs: there are none")));
  const auto sizes = Import("nodes { op: OP_VARIABLE variable { name: \"n\" min: 1 max: 2 } }");
  EXPECT_THAT(sizes, StatusIs(absl::StatusCode::kInvalidArgument,
                              HasSubstr("outputs[0]: node 0 has dtype index")));
  EXPECT_EQ(sizes.status().GetPayload(kNodePayload), "0");
}

TEST(ImportGraph, StatusNamesTheNode) {
  const auto graph = Import(absl::StrCat(kInput, kInts, "nodes { op: OP_ADD src: [0, 1] }"));
  EXPECT_THAT(graph, StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("node 2 (add)")));
  EXPECT_EQ(graph.status().GetPayload(kNodePayload), "2");
}

TEST(ImportGraph, ChecksNodesThatNoOutputNeeds) {
  EXPECT_THAT(Import(absl::StrCat(kInput, kInts, "nodes { op: OP_ADD src: [0, 1] }"), {0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kiln::server
