#include "core/rewrite/spec.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/rewrite/specs.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"

namespace kiln::rewrite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// "OK", or what is wrong with the graph of this text.
std::string Verified(std::string_view text, const Spec& spec) {
  Graph g;
  const absl::StatusOr<Ref> root = uop::Parse(g, text);
  if (!root.ok()) return root.status().ToString();
  return Verify(g, *root, spec).ToString();
}
std::string Tensor(std::string_view text) { return Verified(text, kTensorSpec); }
std::string Kernel(std::string_view text) { return Verified(text, kKernelSpec); }
std::string Program(std::string_view text) { return Verified(text, kProgramSpec); }

// ** mechanism **

TEST(Verify, ShowsTheNodeAndWhatWouldBeLegal) {
  EXPECT_EQ(Kernel("load(index(param{\"in\", 0, 64, global}:float32, r0:64)):int32"),
            "INVALID_ARGUMENT: node 4, load(index(param{\"in\", 0, 64, global}:float32, "
            "r0:64)):int32, is not legal at "
            "kernel level: it must be load(place), of the place's dtype; or load(place, value if "
            "gated off), all of one "
            "dtype; or load(place, effect that it comes after), of the place's dtype; or "
            "load(place, value if gated off, "
            "effect that it comes after), all of one dtype");
}

TEST(Verify, ShowsTheOpsOfTheLevelForAnOpThatIsNone) {
  EXPECT_THAT(
      Program("contiguous(x[0,9]:float32)"),
      AllOf(HasSubstr(
          "node 0, x[0,9]:float32, is not legal at program level: it must be a named variable of "
          "dtype int32 or int64")));
  EXPECT_THAT(Program("contiguous(1:float32)"),
              AllOf(HasSubstr("is not legal at program level: contiguous is none of its ops, which "
                              "are cast, bitcast,"),
                    HasSubstr(" load, store, "), Not(HasSubstr("reshape"))));
}

TEST(Verify, ReportsTheFirstNodeInTheOrderOfSources) {
  EXPECT_THAT(Kernel("neg(reshape(detach(1:float32)))"),
              HasSubstr("node 1, detach(1.0:float32), is not legal"));
}

TEST(Verify, ChecksNumberOfSources) {
  Graph g;
  Ref x = g.Const(DType::kFloat32, Scalar::Float(1));
#ifdef NDEBUG  // Make itself objects in debug builds.
  Ref bad = g.Make(Op::kAdd, DType::kFloat32, {x, x, x});
  EXPECT_THAT(Verify(g, bad, kKernelSpec).ToString(), HasSubstr("add takes 2 sources, not 3"));
#endif
  (void)x;
}

TEST(Verify, ChecksDTypeOfEffectsAndValues) {
  Graph g;
  EXPECT_THAT(Verify(g, g.Make(Op::kSink, DType::kInt32, {}), kKernelSpec).ToString(),
              HasSubstr("sink has dtype void, not int32"));
  EXPECT_THAT(Verify(g, g.Make(Op::kNeg, DType::kVoid, {g.Index(1)}), kKernelSpec).ToString(),
              HasSubstr("neg has a value, not dtype void"));
}

TEST(Verify, ChecksArgs) {
#ifndef NDEBUG
  GTEST_SKIP() << "here Graph::Make makes no such nodes";
#endif
  Graph g;
  const Ref bad_bool = g.Const(DType::kBool, Scalar::Int(2));
  EXPECT_THAT(Verify(g, bad_bool, kKernelSpec).ToString(), HasSubstr("its arg is none of const"));
  const Ref bad_range = g.Make(Op::kRange, DType::kIndex, {g.Index(4)}, Arg::FromBits(99));
  EXPECT_THAT(Verify(g, bad_range, kKernelSpec).ToString(), HasSubstr("its arg is none of range"));
  const Ref bad_add = g.Make(Op::kNeg, DType::kIndex, {g.Index(4)}, Arg::Int(1));
  EXPECT_THAT(Verify(g, bad_add, kKernelSpec).ToString(), HasSubstr("its arg is none of neg"));
  const Ref bad_param = g.Make(Op::kParam, DType::kInt8, {}, g.PayloadArg("p", {0, 8}));
  EXPECT_THAT(Verify(g, bad_param, kKernelSpec).ToString(), HasSubstr("its arg is none of param"));
}

TEST(Verify, DeepAndSharedGraphsAreLinear) {
  Graph g;
  Ref chain = g.Variable("a", 0, 9), a = chain, b = g.Variable("b", 0, 9);
  for (int i = 0; i < 300'000; ++i) chain = i % 2 == 0 ? g.Max(chain, b) : g.Mod(chain, b);
  for (int i = 0; i < 100'000; ++i) {
    Ref c = g.Max(a, b), d = g.Mod(b, a);
    a = c;
    b = d;
  }
  const Ref root = g.Add(chain, g.Add(a, b));
  EXPECT_TRUE(Verify(g, root, kKernelSpec).ok());
  EXPECT_TRUE(Verify(g, root, kTensorSpec).ok());
}

TEST(Verify, ChainAboveACallIsLinear) {
  Graph g;
  Ref x = g.Make(Op::kCall, DType::kFloat32, {}, g.PayloadArg("f", {}));
  for (int i = 0; i < 200'000; ++i)
    x = g.Make(i % 2 == 0 ? Op::kSqrt : Op::kSin, DType::kFloat32, {x});
  EXPECT_TRUE(Verify(g, x, kTensorSpec).ok());
}

// ** tensor **

TEST(TensorSpec, AllowsTheOpsOfTheWire) {
  for (std::string_view text : {
           "input{0}(4, 8):float32",
           "%0 = input{0}(4, 8):float32; %0 + expand(reshape(1.5:float32, 1, 1), 4, 8)",
           "reshape(input{0}(n[1,9], 8):float32, n * 8)",
           "shrink(pad(input{0}(4, 8):uint8, 1, 1, 0, n[0,9]), 0, 2, 1, 3)",
           "flip{1}(permute{1, 0}(input{0}(4, 8):bool))",
           "cast(input{0}(4):float16):fp8e4m3",
           "bitcast(input{0}(4, 8):float32):int16",
           "%0 = input{0}(4):float32; where(%0 < neg(%0), mulacc(%0, %0, %0), recip(%0))",
           "%0 = input{0}(4):uint64; threefry(%0, %0)",
           "reduce{add, 0, 1}(input{0}(4, 8):float32)",
           "iota{1}(4, 8):int32",
           "contiguous(detach(input{0}(4):float32))",
           "%0 = input{0}(8):float32; assign(shrink(%0, 0, 4), input{1}(4):float32)",
           "copy{\"cpu:1\"}(input{0}(4):float32)",
           "copy(input{0}(4):float32)",
           "allreduce{add}(unshard(shard{\"cpu:0,cpu:1\", 0}(input{0}(4):float32)))",
           "shard{\"cpu:0,cpu:1\"}(input{0}(4):float32)",
           "call{\"softmax\"}(input{0}(4):float32):float32",
           "%0 = call{\"softmax\"}(input{0}(4):float32):float32; sin(%0 + input{1}(3):float32)",
           "%0 = input{0}():float32; gradient{0}(%0 * %0, 1:float32, %0)",
           "sink(input{0}(4):float32, iota{0}(4):int32)",
           "reshape(input{0}(6):int8, where(n[0,9] < 5, 2, 3), 3)",
           "reshape(input{0}(6):int8, bind(n[0,9], 2), 3)",
       }) {
    EXPECT_EQ(Tensor(text), "OK") << text;
  }
}

TEST(TensorSpec, ElementwiseOperandsHaveOneDType) {
  EXPECT_THAT(
      Tensor("add(input{0}(4):float32, input{1}(4):float16):float32"),
      AllOf(HasSubstr("node 3, "), HasSubstr("elementwise on a dtype that has the operation")));
  EXPECT_THAT(Tensor("add(input{0}(4):float32, input{1}(4):float32):float16"),
              HasSubstr("it must be elementwise"));
  EXPECT_THAT(Tensor("%0 = input{0}(4):float32; cmplt(%0, %0):bool"), HasSubstr("OK"));
  EXPECT_THAT(Tensor("%0 = input{0}(4):float32; where(%0, %0, %0)"),
              HasSubstr("of where: the first is bool"));
}

TEST(TensorSpec, ElementwiseOpsAreDefinedOnTheirDType) {
  EXPECT_THAT(Tensor("%0 = input{0}(4):float32; %0 ^ %0"), HasSubstr("it must be elementwise"));
  EXPECT_THAT(Tensor("sqrt(input{0}(4):int32)"), HasSubstr("it must be elementwise"));
  EXPECT_THAT(Tensor("%0 = input{0}(4):uint32; threefry(%0, %0)"),
              HasSubstr("it must be elementwise"));
}

TEST(TensorSpec, ElementwiseOperandsHaveOneShape) {
  EXPECT_THAT(Tensor("input{0}(4):float32 + input{1}(5):float32"), HasSubstr("and of one shape"));
  EXPECT_THAT(Tensor("input{0}(4):float32 + 1.0"),
              HasSubstr("and of one shape (a scalar is expanded first)"));
}

TEST(TensorSpec, ShapesFollowTheRules) {
  EXPECT_THAT(Tensor("reshape(input{0}(4):float32, 5)"), HasSubstr("does not have the 4 elements"));
  EXPECT_THAT(Tensor("expand(input{0}(4):float32, 5)"), HasSubstr("changes axis 0"));
  EXPECT_THAT(Tensor("permute{0, 0}(input{0}(4, 5):float32)"),
              HasSubstr("is not legal at tensor level: "));
  EXPECT_THAT(Tensor("pad(input{0}(4):float32, 1)"), HasSubstr("needs 2 entries"));
  EXPECT_THAT(Tensor("shrink(input{0}(4):float32, 3, 5)"), HasSubstr("on axis 0 of [4]"));
  EXPECT_THAT(Tensor("reduce{add, 1}(input{0}(4):float32)"), HasSubstr("axis beyond"));
  EXPECT_THAT(Tensor("iota{1}(4):int32"), HasSubstr("along axis 1"));
  EXPECT_THAT(Tensor("input{0}(-4):float32"), HasSubstr("has a dim of -4"));
  EXPECT_THAT(Tensor("bitcast(input{0}(3):int16):int32"), HasSubstr("bitcast"));
}

TEST(TensorSpec, LeavesAreOfDTypesThatLieInMemory) {
  EXPECT_THAT(Tensor("input{0}(4):index"),
              HasSubstr("input{slot}(dims...), of a dtype that lies in memory"));
  EXPECT_THAT(Tensor("input{-1}(4):int8"), HasSubstr("slot >= 0"));
  EXPECT_THAT(Tensor("iota{0}(4):float32"), HasSubstr("iota{axis}(dims...), of an integer dtype"));
  EXPECT_THAT(Tensor("cast(v[0,9]:int32):float32"), HasSubstr("a named variable of dtype index"));
  EXPECT_THAT(Tensor("_"), HasSubstr("a named variable"));
  EXPECT_THAT(Tensor("bind(n[0,9], 10)"), HasSubstr("constant within its bounds"));
}

TEST(TensorSpec, DimsDoNotDependOnData) {
  EXPECT_THAT(Tensor("reshape(input{0}(4):int8, cast(input{1}():int8):index)"),
              AllOf(HasSubstr("its dims must be expressions of constants and variables, and source "
                              "1, cast(input{1}"),
                    HasSubstr("depends on data")));
  EXPECT_THAT(Tensor("%0 = input{1}():int8; input{0}(where(%0 < 5, 3, 4)):float32"),
              HasSubstr("depends on data"));
}

TEST(TensorSpec, DimsAreOfDTypeIndex) {
  EXPECT_THAT(Tensor("reshape(input{0}(4):int8, 4:int32)"),
              HasSubstr("reshape or expand(x, dims...)"));
}

TEST(TensorSpec, OtherOpsKeepTheirDType) {
  EXPECT_THAT(Tensor("reshape(input{0}(4):int8, 4):int16"), HasSubstr("of x's dtype"));
  EXPECT_THAT(Tensor("reduce{add, 0}(input{0}(4):int8):int32"),
              HasSubstr("of x's dtype, which has the operation"));
  EXPECT_THAT(Tensor("reduce{add}(input{0}(4):int8)"), HasSubstr("at least one"));
  EXPECT_THAT(Tensor("contiguous(input{0}(4):int8):int16"),
              HasSubstr("contiguous, detach or unshard(x), of x's dtype"));
  EXPECT_THAT(Tensor("assign(input{0}(4):int8, input{1}(4):int16)"),
              HasSubstr("assign(target, value), all of one dtype"));
}

TEST(TensorSpec, AssignWritesToAnInput) {
  EXPECT_THAT(
      Tensor("assign(neg(input{0}(4):int8), input{1}(4):int8)"),
      HasSubstr("the target of assign must be an input, another assign, or a movement of one"));
  EXPECT_EQ(
      Tensor("%0 = input{0}(8):int8; assign(shrink(assign(%0, neg(%0)), 0, 4), shrink(%0, 4, 8))"),
      "OK");
}

TEST(TensorSpec, DevicesAndFunctionsAreNamed) {
  EXPECT_THAT(Tensor("call(input{0}(4):int8):int8"), HasSubstr("call{function}(inputs...)"));
  EXPECT_THAT(Tensor("shard{\"a,b\", 1}(input{0}(4):int8)"),
              HasSubstr("shard{devices, axis of x or none}(x)"));
  EXPECT_THAT(Tensor("%0 = input{0}():float32; gradient{1}(%0, %0, %0)"),
              HasSubstr("gradient{which}(y, seed, x...)"));
  EXPECT_THAT(Tensor("%0 = input{0}(3):float32; gradient{0}(%0, 1:float32, %0)"),
              HasSubstr("with a seed of y's dtype and shape"));
}

TEST(TensorSpec, HasNoKernelOps) {
  for (std::string_view text :
       {"r0:64", "gidx0:64", "param{\"in\", 0, 64, global}:float32", "barrier()", "stack(1, 2)"}) {
    EXPECT_THAT(Tensor(text), HasSubstr("is none of its ops, which are cast, ")) << text;
  }
}

// ** kernel **

constexpr std::string_view kCopyKernel =
    "%0 = r0:64; end(store(index(param{\"out\", 0, 64, global}:float32, %0), "
    "load(index(param{\"in\", 1, 64, global}:float32, %0 * 2 % 64, %0 < 7), 1.0:float32)), %0)";

TEST(KernelSpec, AllowsRangesAndMemoryAndValues) {
  for (std::string_view text : {
           std::string_view(kCopyKernel),
           std::string_view(
               "reduce{add}(load(index(param{\"in\", 0, 64, global}:float32, r0.reduce:64)), r0)"),
           std::string_view("stack(1:int8, 2:int8) + 3"),
           std::string_view("unstack{1}(stack(1:int8, 2:int8))"),
           std::string_view("%0 = param{\"l\", 0, 8, local}:int8; %1 = index(%0, lidx0:8); %2 = "
                            "barrier(store(%1, 3:int8)); "
                            "sink(store(index(after(%0, %2), 0), load(index(after(%0, %2), lidx0), "
                            "%2), lidx0 < 4))"),
           std::string_view("%0 = if(gidx0:4 < 2, barrier()); endif(%0, store(index(param{\"l\", "
                            "0, 8, reg}:int8, 0), 3:int8))"),
           std::string_view("kernel{\"k\"}(sink(), param{\"l\", 0, 8, global}:int8)"),
           std::string_view("cast(n[0,9] * bind(m[0,3], 2)):float32"),
           std::string_view("store(index(param{\"l\", 0, 8, global}:int8, r0:8), 3:int8, r0)"),
       }) {
    EXPECT_EQ(Kernel(text), "OK") << text;
  }
}

TEST(KernelSpec, CountersAndElementIndicesAreIndex) {
  EXPECT_THAT(Kernel("range{0, loop}(64:int32):int32"),
              HasSubstr("range{axis, type}(end), both of dtype index"));
  EXPECT_THAT(Kernel("index(param{\"in\", 0, 64, global}:int8, 3:int32)"),
              HasSubstr("with an element index of dtype index"));
  EXPECT_THAT(Kernel("index(param{\"in\", 0, 64, global}:int8, 3, 4)"),
              HasSubstr("gate, which is bool"));
  EXPECT_THAT(Kernel("special(4)"), HasSubstr("special{name}(end)"));
}

TEST(KernelSpec, AccessesHaveTheDTypeOfTheirPlace) {
  EXPECT_THAT(Kernel("index(param{\"in\", 0, 64, global}:int8, 3):int16"),
              HasSubstr("of the param's dtype"));
  EXPECT_THAT(Kernel("index(3:int8, 3)"), HasSubstr("index(param, element index)"));
  EXPECT_THAT(Kernel("load(3:int8)"), HasSubstr("it must be load(place)"));
  EXPECT_THAT(Kernel("load(index(param{\"in\", 0, 64, global}:int8, 3), 3:int16)"),
              HasSubstr("all of one dtype"));
  EXPECT_THAT(Kernel("store(index(param{\"in\", 0, 64, global}:int8, 3), 3:int16)"),
              HasSubstr("a value of the place's dtype"));
  EXPECT_THAT(Kernel("store(index(param{\"in\", 0, 64, global}:int8, 3), 3:int8, 4:int8)"),
              HasSubstr("ranges that end here"));
}

TEST(KernelSpec, ReductionsAreOverRanges) {
  EXPECT_THAT(Kernel("reduce{add}(3:int8, 4)"),
              HasSubstr("reduce{add, mul or max; axes}(x, ranges...)"));
  EXPECT_THAT(Kernel("reduce{add}(r0:4, r0)"), HasSubstr("is not index"));
}

TEST(KernelSpec, ControlIsOfEffects) {
  EXPECT_THAT(Kernel("sink(3:int8)"), HasSubstr("sink(effects...)"));
  EXPECT_THAT(Kernel("end(sink(), 4)"), HasSubstr("end(effects..., range)"));
  EXPECT_THAT(Kernel("if(3:int8)"), HasSubstr("if(bool)"));
  EXPECT_THAT(Kernel("endif(sink(), sink())"), HasSubstr("endif(if, effects...)"));
  EXPECT_THAT(Kernel("after(3:int8, 4:int8)"), HasSubstr("after(x, effects or ranges...)"));
}

TEST(KernelSpec, ShapesGoTogether) {
  EXPECT_THAT(Kernel("stack(1:int8, 2:int8) + stack(1:int8, 2:int8, 3:int8)"),
              HasSubstr("needs sources of one shape"));
  EXPECT_THAT(Kernel("unstack{2}(stack(1:int8, 2:int8))"), HasSubstr("takes element 2 of [2]"));
  EXPECT_THAT(Kernel("stack(1:int8, 2:int16)"), HasSubstr("stack(values...), all of one dtype"));
}

TEST(KernelSpec, NumbersStandForOneNode) {
  EXPECT_THAT(Kernel("%0 = range{0, loop}(4); %1 = range{0, loop}(5); %0 + %1"),
              HasSubstr("each range has an axis id of its own, and node"));
  EXPECT_THAT(Kernel("sink(store(index(param{\"a\", 0, 8, global}:int8, 0), "
                     "load(index(param{\"b\", 0, 8, global}:int8, 0))))"),
              HasSubstr("each param has a number of its own, and node"));
}

TEST(KernelSpec, HasNoTensorOps) {
  for (std::string_view text : {"reshape(1:int8)", "input{0}():int8", "iota{0}(4):int32",
                                "contiguous(1:int8)", "linear()"}) {
    EXPECT_THAT(Kernel(text), HasSubstr("is none of its ops, which are cast, ")) << text;
  }
}

// ** program **

constexpr std::string_view kCopyProgram =
    "%0 = range{0, loop}(64:int32):int32; end(store(index(param{\"out\", 0, 64, global}:float32, "
    "%0), "
    "load(index(param{\"in\", 1, 64, global}:float32, %0 * 2 % 64, %0 < 7), 1.0:float32)), %0)";

TEST(ProgramSpec, AllowsLoopsAndMachineArithmetic) {
  for (std::string_view text : {
           std::string_view(kCopyProgram),
           std::string_view("cast(n[0,9]:int32):float32"),
           std::string_view("cast(special{\"gidx0\"}(64:int32):int32):int64 * 4"),
           std::string_view("linear(barrier())"),
           std::string_view("stack(1:float32, 2:float32) * 3"),
       }) {
    EXPECT_EQ(Program(text), "OK") << text;
  }
}

TEST(ProgramSpec, NoIndexIsLeft) {
  EXPECT_THAT(
      Program(kCopyKernel),
      HasSubstr(
          "node 0, 64, is not legal at program level: it must be const, of any dtype but index"));
  EXPECT_THAT(Program("cast(1:int8):index"), HasSubstr("none of them index"));
  EXPECT_THAT(Program("n[0,9]"), HasSubstr("a named variable of dtype int32 or int64"));
  EXPECT_THAT(Program("index(param{\"in\", 0, 64, global}:int8, 3:int8)"),
              HasSubstr("element index of dtype int32 or int64"));
}

TEST(ProgramSpec, EveryLoopEndsOnce) {
  EXPECT_THAT(Program("range{0, loop}(64:int32):int32 + 1"), HasSubstr("no end ends this loop"));
  EXPECT_THAT(Program("%0 = range{0, loop}(64:int32):int32; sink(end(sink(), %0), end(barrier(), "
                      "%0))"),
              HasSubstr("its loop ends elsewhere too"));
}

TEST(ProgramSpec, LanesHaveAConstantNumber) {
  EXPECT_EQ(Program("range{0, upcast}(4:int32):int32 * 8"), "OK");
  EXPECT_EQ(Program("reduce{add}(cast(r0.unroll:4:int32):float32, r0)"), "OK");
  EXPECT_THAT(Program("range{0, unroll}(n[0,9]:int32):int32"),
              HasSubstr("range{axis, upcast or unroll}(constant end)"));
  EXPECT_THAT(Program("range{0, upcast}(0:int32):int32"), HasSubstr("constant end"));
}

TEST(ProgramSpec, OnlyLoopsAndLanesAreLeft) {
  EXPECT_THAT(Program("range{0, local}(4:int32):int32"),
              HasSubstr("range{axis, loop or reduce}(end)"));
  EXPECT_THAT(Program("range{0, loop}(4:int8):int8"),
              HasSubstr("both of dtype int32 or both int64"));
  EXPECT_THAT(Program("reduce{add}(3:int8)"), HasSubstr("reduce{add, mul or max}(x, lane"));
  EXPECT_THAT(Program("%0 = range{0, reduce}(4:int32):int32; sink(store(index(param{\"a\", 0, 4, "
                      "global}:float32, 0:int32), reduce{add}(cast(%0):float32, %0)))"),
              HasSubstr("reduce{add, mul or max}(x, lane ranges...)"));
}

TEST(ProgramSpec, InstructionsAreInAnOrderThatCanBeCarriedOut) {
  constexpr std::string_view kNodes =
      "%r = range{0, loop}(4:int32):int32; %i = index(param{\"a\", 0, 4, global}:int8, %r); "
      "%s = store(%i, 1:int8); %e = end(%s, %r); ";
  const auto list = [&](std::string_view order) {
    return Program(std::string(kNodes) + std::string(order));
  };
  EXPECT_EQ(list("linear(%r, %i, %s, %e)"), "OK");
  EXPECT_THAT(list("linear(%r, %s, %i, %e)"), HasSubstr("it is listed before a source"));
  EXPECT_THAT(list("linear(%r, %i, %i, %s, %e)"), HasSubstr("it is listed twice"));
  EXPECT_THAT(list("linear(%r, %i, %s, %e, load(%i))"),
              HasSubstr("a source is in a loop that ended"));
  EXPECT_THAT(list("%q = range{1, loop}(4:int32):int32; linear(%r, %q, %i, %s, %e, end(sink(), "
                   "%q))"),
              HasSubstr("an inner loop has not ended"));
}

}  // namespace
}  // namespace kiln::rewrite
