#include "core/tensor/graph_builder.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/rewrite/specs.h"
#include "core/symbolic/render.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::IsOk;
using ::kiln::support::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr DType kF32 = DType::kFloat32;

std::string ShapeText(const GraphBuilder& b, const absl::StatusOr<Value>& v) {
  if (!v.ok()) return v.status().ToString();
  const auto shape = b.ShapeOf(*v);
  if (!shape.ok()) return shape.status().ToString();
  std::string text;
  for (Ref d : *shape) text += (text.empty() ? "" : ", ") + symbolic::Render(d, 100);
  return "(" + text + ")";
}

// The text of the graph that computes `outputs`.
std::string Finished(GraphBuilder b, std::initializer_list<Source> outputs) {
  const auto graph = std::move(b).Finish(outputs);
  if (!graph.ok()) return graph.status().ToString();
  EXPECT_THAT(rewrite::Verify(*graph->graph, graph->sink, rewrite::kTensorSpec), IsOk());
  return uop::ToText(graph->sink);
}

// ** what is built **

TEST(GraphBuilder, BuildsTheOpsOfTheWire) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4, 6});
  auto y = b.Alu(Op::kAdd, {b.Permute(x, {1, 0}),
                            b.Expand(b.Reshape(b.Const(kF32, Scalar::Float(2)), {1, 1}), {6, 4})});
  auto z = b.Reduce(Op::kMax, b.Pad(y, {0, 0, 1, 2}), {1});
  auto kept = b.Contiguous(z);
  EXPECT_EQ(Finished(std::move(b), {z, kept}),
            "%0 = reduce{max, 1}(pad(permute{1, 0}(input{0}(4, 6):float32) + "
            "expand(reshape(2.0:float32, 1, 1), 6, 4), 0, 0, 1, 2)); sink(%0, contiguous(%0))");
}

TEST(GraphBuilder, InfersShapes) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4, 6});
  EXPECT_EQ(ShapeText(b, b.Reshape(x, {3, 8})), "(3, 8)");
  EXPECT_EQ(ShapeText(b, b.Permute(x, {1, 0})), "(6, 4)");
  EXPECT_EQ(ShapeText(b, b.Expand(b.Reshape(x, {1, 24}), {5, 24})), "(5, 24)");
  EXPECT_EQ(ShapeText(b, b.Pad(x, {1, 2, 0, 3})), "(7, 9)");
  EXPECT_EQ(ShapeText(b, b.Shrink(x, {1, 3, 0, 6})), "(2, 6)");
  EXPECT_EQ(ShapeText(b, b.Flip(x, {1})), "(4, 6)");
  EXPECT_EQ(ShapeText(b, b.Reduce(Op::kAdd, x, {0})), "(1, 6)");
  EXPECT_EQ(ShapeText(b, b.Bitcast(x, DType::kInt8)), "(4, 24)");
  EXPECT_EQ(ShapeText(b, b.Bitcast(x, DType::kFloat64)), "(4, 3)");
  EXPECT_EQ(ShapeText(b, b.Iota(DType::kInt32, {4, 6}, 1)), "(4, 6)");
  EXPECT_EQ(ShapeText(b, b.Const(kF32, Scalar::Float(1))), "()");
  EXPECT_EQ(ShapeText(b, b.Input(1, kF32, {0, 6})), "(0, 6)");
}

TEST(GraphBuilder, InfersDTypes) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4});
  const auto dtype = [&b](const absl::StatusOr<Value>& v) { return *b.DTypeOf(*v); };
  EXPECT_EQ(dtype(b.Alu(Op::kCmpLt, {x, x})), DType::kBool);
  EXPECT_EQ(dtype(b.Alu(Op::kWhere, {b.Alu(Op::kCmpNe, {x, x}), x, x})), kF32);
  EXPECT_EQ(dtype(b.Alu(Op::kMulAcc, {x, x, x})), kF32);
  EXPECT_EQ(dtype(b.Cast(x, DType::kFp8E4M3)), DType::kFp8E4M3);
  EXPECT_EQ(dtype(b.Reduce(Op::kAdd, x, {0})), kF32);
}

TEST(GraphBuilder, CollectsWhatARunMustKnow) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 8);
  auto x = b.Input(3, kF32, {n}, "HOST");
  auto y = b.Input(1, DType::kInt8, {8});
  b.Label("sum");
  auto sum = b.Reduce(Op::kAdd, b.Copy(x, "CPU"), {0});
  auto written = b.Assign(y, b.Alu(Op::kNeg, {y}));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph g, std::move(b).Finish({sum, written}));
  ASSERT_EQ(g.inputs.size(), 2);
  EXPECT_EQ(g.inputs[0].slot, 1);
  EXPECT_TRUE(g.inputs[0].is_assigned);
  EXPECT_EQ(g.inputs[1].device, "HOST");
  EXPECT_FALSE(g.inputs[1].is_assigned);
  EXPECT_THAT(g.devices, ElementsAre("CPU", "HOST"));
  ASSERT_EQ(g.variables.size(), 1);
  EXPECT_EQ(uop::VariableOf(g.variables[0]).name, "n");
}

TEST(GraphBuilder, ExpandsLibraryFunctions) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4});
  auto sum = b.Call("sum", {x}, {{"axes", 0}, {"keepdim", true}});
  KILN_ASSERT_OK(sum);
  ASSERT_EQ(sum->size(), 1);
  EXPECT_EQ((*sum)[0].node, 1);
  EXPECT_THAT(b.Call("squash", {x}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("node 2 (call squash)")));
  EXPECT_EQ(Finished(std::move(b), {(*sum)[0]}), "sink(reduce{add, 0}(input{0}(4):float32))");
}

// ** sizes **

TEST(GraphBuilder, SizesAreExpressions) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 8);
  auto twice = b.Alu(Op::kMul, {n, b.Index(2)});
  auto x = b.Input(0, kF32, {twice, 3});
  EXPECT_EQ(ShapeText(b, b.Reshape(x, {n, 6})), "(n, 6)");
  EXPECT_EQ(ShapeText(b, b.Shrink(x, {n, twice, 0, 3})), "(n, 3)");
  EXPECT_EQ(ShapeText(b, b.Pad(x, {n, 0, 0, 0})), "((n*3), 3)");
}

TEST(GraphBuilder, EqualSizesOfOtherFormGoTogether) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 8);
  auto one = b.Index(1);
  auto longer = b.Input(0, kF32, {b.Alu(Op::kAdd, {n, one})});
  auto cut = b.Shrink(longer, {1, b.Alu(Op::kAdd, {n, one})});  // [n + 1 - 1]
  auto x = b.Input(1, kF32, {n});
  KILN_EXPECT_OK(b.Alu(Op::kAdd, {cut, x}));
  KILN_EXPECT_OK(b.Alu(Op::kAdd, {x, cut}));
  KILN_EXPECT_OK(b.Assign(x, cut));
}

TEST(GraphBuilder, UndecidedConditionsGoToTheRun) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 8), m = b.Variable("m", 1, 8);
  auto x = b.Input(0, kF32, {n});
  auto y = b.Reshape(x, {m});
  KILN_ASSERT_OK(y);
  EXPECT_THAT(b.Alu(Op::kAdd, {x, y}),
              StatusIs(kInvalid, HasSubstr("its shape (m) is not that of the first, (n)")));
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph g, std::move(b).Finish({y}));
  ASSERT_EQ(g.conditions.size(), 1);
  EXPECT_EQ(g.conditions[0]->dtype, DType::kBool);
  EXPECT_EQ(g.variables.size(), 2);
}

TEST(GraphBuilder, SizesDoNotDependOnData) {
  GraphBuilder b;
  auto x = b.Input(0, DType::kInt32, {});
  EXPECT_THAT(b.Cast(x, DType::kIndex), StatusIs(kInvalid, HasSubstr("src 0: a size must be")));
  EXPECT_THAT(b.Reshape(x, {x}), StatusIs(kInvalid, HasSubstr("dims[0]: node 0 has dtype int32")));
  auto n = b.Variable("n", 1, 8);
  auto less = b.Alu(Op::kCmpLt, {x, x});
  EXPECT_THAT(b.Alu(Op::kWhere, {less, n, n}),
              StatusIs(kInvalid, HasSubstr("must not depend on data")));
  KILN_EXPECT_OK(b.Alu(Op::kWhere, {b.Alu(Op::kCmpLt, {n, b.Index(3)}), n, b.Index(3)}));
  KILN_EXPECT_OK(b.Cast(b.Cast(n, DType::kInt8), DType::kIndex));
}

TEST(GraphBuilder, SizesAreNoTensors) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 8);
  EXPECT_THAT(b.Contiguous(n), StatusIs(kInvalid, HasSubstr("cast it first")));
  EXPECT_THAT(b.Reshape(n, {1}), StatusIs(kInvalid, HasSubstr("node 2 (reshape), src 0")));
  EXPECT_THAT(b.Alu(Op::kAdd, {n, b.Const(DType::kInt64, Scalar::Int(1))}),
              StatusIs(kInvalid, HasSubstr("src 1: its dtype is int64")));
  EXPECT_THAT(std::move(b).Finish({n}),
              StatusIs(kInvalid, HasSubstr("outputs[0]: node 0 has dtype index")));
}

TEST(GraphBuilder, SizesStayWithinInt64) {
  GraphBuilder b;
  auto n = b.Variable("n", 0, INT64_MAX);
  EXPECT_THAT(b.Alu(Op::kMul, {n, n}), StatusIs(kInvalid, HasSubstr("may leave int64")));
  EXPECT_THAT(b.Alu(Op::kAdd, {n, b.Index(1)}), StatusIs(kInvalid, HasSubstr("may leave int64")));
}

TEST(GraphBuilder, SizesAreNotDividedByWhatMayBeZero) {
  GraphBuilder b;
  auto n = b.Variable("n", 0, 8), m = b.Variable("m", 0, 8);
  const auto refused = StatusIs(kInvalid, HasSubstr("src 1: a size is divided by what may be 0"));
  EXPECT_THAT(b.Alu(Op::kIDiv, {n, b.Index(0)}), refused);
  EXPECT_THAT(b.Alu(Op::kIDiv, {n, m}), refused);
  EXPECT_THAT(b.Alu(Op::kMod, {n, m}), refused);
  auto x = b.Reshape(b.Const(kF32, Scalar::Float(1)), {1});
  KILN_EXPECT_OK(b.Expand(x, {b.Alu(Op::kMod, {n, b.Alu(Op::kMax, {m, b.Index(1)})})}));
  KILN_EXPECT_OK(b.Expand(x, {b.Alu(Op::kIDiv, {n, b.Variable("k", 1, 4)})}));
}

// ** what is refused: every field of every op **

TEST(GraphBuilder, RefusesWrongLeaves) {
  GraphBuilder b;
  EXPECT_THAT(b.Input(-1, kF32, {4}), StatusIs(kInvalid, HasSubstr("node 0 (input), slot")));
  EXPECT_THAT(b.Input(0, DType::kIndex, {4}), StatusIs(kInvalid, HasSubstr("dtype: index is no")));
  EXPECT_THAT(b.Input(0, DType::kVoid, {4}), StatusIs(kInvalid, HasSubstr("dtype")));
  EXPECT_THAT(b.Input(0, static_cast<DType>(99), {4}), StatusIs(kInvalid, HasSubstr("dtype")));
  EXPECT_THAT(b.Input(0, kF32, {-4}), StatusIs(kInvalid, HasSubstr("dims")));
  EXPECT_THAT(b.Input(0, kF32, {INT64_MAX, 2}), StatusIs(kInvalid, HasSubstr("dims")));
  EXPECT_THAT(b.Const(DType::kVoid, {}), StatusIs(kInvalid, HasSubstr("(const), dtype")));
  EXPECT_THAT(b.Const(DType::kInt8, Scalar::Int(300)),
              StatusIs(kInvalid, HasSubstr("value: it is no value of int8")));
  EXPECT_THAT(b.Variable("", 0, 1), StatusIs(kInvalid, HasSubstr("name: it is empty")));
  EXPECT_THAT(b.Variable("n", 1, 0), StatusIs(kInvalid, HasSubstr("min: 1 is above")));
  EXPECT_THAT(b.Iota(kF32, {4}, 0), StatusIs(kInvalid, HasSubstr("(iota), dtype")));
  EXPECT_THAT(b.Iota(DType::kInt32, {4}, 1), StatusIs(kInvalid, HasSubstr("axis: no axis 1")));
  EXPECT_THAT(b.Iota(DType::kInt32, {4}, -1), StatusIs(kInvalid, HasSubstr("axis: no axis -1")));
}

TEST(GraphBuilder, InputsAndVariablesOfOneNameAgree) {
  GraphBuilder b;
  KILN_EXPECT_OK(b.Input(0, kF32, {4}));
  KILN_EXPECT_OK(b.Input(0, kF32, {4}));
  EXPECT_THAT(b.Input(0, kF32, {5}), StatusIs(kInvalid, HasSubstr("slot: input 0 has another")));
  EXPECT_THAT(b.Input(0, kF32, {4}, "gpu"), StatusIs(kInvalid, HasSubstr("device")));
  KILN_EXPECT_OK(b.Variable("n", 0, 4));
  EXPECT_THAT(b.Variable("n", 0, 5), StatusIs(kInvalid, HasSubstr("bounds 0 and 4 before")));
}

TEST(GraphBuilder, RefusesWrongMovements) {
  GraphBuilder b;
  auto x = b.Label("in").Input(0, kF32, {4, 6});
  EXPECT_THAT(b.Label("r").Reshape(x, {5, 5}),
              StatusIs(kInvalid, HasSubstr("node 1 \"r\" (reshape), dims: ")));
  EXPECT_THAT(b.Reshape(x, {-4, -6}), StatusIs(kInvalid, HasSubstr("dims")));
  EXPECT_THAT(b.Expand(x, {4, 7}), StatusIs(kInvalid, HasSubstr("only size 1 repeats")));
  EXPECT_THAT(b.Expand(x, {4}), StatusIs(kInvalid, HasSubstr("another number of axes")));
  EXPECT_THAT(b.Permute(x, {0}), StatusIs(kInvalid, HasSubstr("axes: 1 axes given")));
  EXPECT_THAT(b.Permute(x, {0, 0}), StatusIs(kInvalid, HasSubstr("axis 0 is named twice")));
  EXPECT_THAT(b.Permute(x, {0, 2}), StatusIs(kInvalid, HasSubstr("no axis 2")));
  EXPECT_THAT(b.Flip(x, {-1}), StatusIs(kInvalid, HasSubstr("no axis -1")));
  EXPECT_THAT(b.Flip(x, {1, 1}), StatusIs(kInvalid, HasSubstr("named twice")));
  EXPECT_THAT(b.Pad(x, {1, 1}), StatusIs(kInvalid, HasSubstr("2 numbers given, 4 are needed")));
  EXPECT_THAT(b.Pad(x, {1, -1, 0, 0}), StatusIs(kInvalid, HasSubstr("can't be padded")));
  EXPECT_THAT(b.Pad(x, {INT64_MAX, INT64_MAX, 0, 0}), StatusIs(kInvalid, HasSubstr("pairs")));
  EXPECT_THAT(b.Shrink(x, {0, 5, 0, 6}), StatusIs(kInvalid, HasSubstr("is not within axis 0")));
  EXPECT_THAT(b.Shrink(x, {3, 2, 0, 6}), StatusIs(kInvalid, HasSubstr("is not within axis 0")));
  EXPECT_THAT(b.Shrink(x, {-1, 2, 0, 6}), StatusIs(kInvalid, HasSubstr("is not within axis 0")));
}

TEST(GraphBuilder, RefusesWrongArithmetic) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), i = b.Input(1, DType::kInt32, {4}), y = b.Input(2, kF32, {5});
  EXPECT_THAT(b.Alu(Op::kAdd, {x, y}),
              StatusIs(kInvalid, HasSubstr("src 1: its shape (5) is not that of the first, (4)")));
  EXPECT_THAT(b.Alu(Op::kAdd, {x, b.Const(kF32, Scalar::Float(1))}),
              StatusIs(kInvalid, HasSubstr("shape ()")));
  EXPECT_THAT(b.Alu(Op::kAdd, {x, i}), StatusIs(kInvalid, HasSubstr("src 1: its dtype is int32")));
  EXPECT_THAT(b.Alu(Op::kAdd, {x}),
              StatusIs(kInvalid, HasSubstr("src: it takes 2 sources, not 1")));
  EXPECT_THAT(b.Alu(Op::kXor, {x, x}),
              StatusIs(kInvalid, HasSubstr("dtype: it is not defined on float32")));
  EXPECT_THAT(b.Alu(Op::kSqrt, {i}), StatusIs(kInvalid, HasSubstr("not defined on int32")));
  EXPECT_THAT(b.Alu(Op::kWhere, {x, x, x}),
              StatusIs(kInvalid, HasSubstr("src 0: its dtype is float32, not bool")));
  EXPECT_THAT(b.Alu(Op::kReshape, {x}), StatusIs(kInvalid, HasSubstr("op: it is not elementwise")));
  EXPECT_THAT(b.Alu(Op::kCast, {x}), StatusIs(kInvalid, HasSubstr("op")));
  EXPECT_THAT(b.Cast(x, DType::kVoid), StatusIs(kInvalid, HasSubstr("dtype")));
  EXPECT_THAT(b.Bitcast(y, DType::kFloat64), StatusIs(kInvalid, HasSubstr("(bitcast), dtype")));
  EXPECT_THAT(b.Bitcast(b.Const(kF32, {}), DType::kInt8), StatusIs(kInvalid, HasSubstr("dtype")));
  EXPECT_THAT(b.Reduce(Op::kSub, x, {0}), StatusIs(kInvalid, HasSubstr("op: it is none of")));
  EXPECT_THAT(b.Reduce(Op::kAdd, x, {}), StatusIs(kInvalid, HasSubstr("axes: there are none")));
  EXPECT_THAT(b.Reduce(Op::kAdd, x, {1}), StatusIs(kInvalid, HasSubstr("axes: no axis 1")));
  EXPECT_THAT(b.Reduce(Op::kAdd, x, {0, 0}), StatusIs(kInvalid, HasSubstr("named twice")));
}

TEST(GraphBuilder, APoisonedSourceIsTheFirstError) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4});
  auto bad = b.Reshape(x, {5});
  EXPECT_THAT(b.Contiguous(bad), StatusIs(kInvalid, HasSubstr("node 1 (reshape)")));
  EXPECT_THAT(b.Contiguous(Value{1}), StatusIs(kInvalid, HasSubstr("node 1 (reshape)")));
  EXPECT_THAT(b.Contiguous(Value{99}),
              StatusIs(kInvalid, HasSubstr("node 4 (contiguous), src 0: no node 99, there are 4")));
  EXPECT_THAT(b.Reshape(x, {Value{77}}), StatusIs(kInvalid, HasSubstr("dims[0]: no node 77")));
  EXPECT_THAT(b.ShapeOf(Value{99}).status(), StatusIs(kInvalid));
  EXPECT_THAT(b.DTypeOf(Value{1}).status(), StatusIs(kInvalid, HasSubstr("reshape")));
  EXPECT_EQ(b.num_nodes(), 6);
  EXPECT_THAT(std::move(b).Finish({Value{55}}), StatusIs(kInvalid, HasSubstr("outputs[0]")));
}

TEST(GraphBuilder, OutputsAreNeeded) {
  EXPECT_THAT(GraphBuilder().Finish({}), StatusIs(kInvalid, HasSubstr("outputs: there are none")));
}

}  // namespace
}  // namespace kiln::tensor
