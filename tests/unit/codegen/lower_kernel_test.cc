#include "core/codegen/lower_kernel.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/codegen/program_text.h"
#include "core/rewrite/specs.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"

namespace kiln::codegen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Target kTarget = {.name = "test", .ops = {Op::kMulAcc, Op::kMax, Op::kShr, Op::kFDiv}};

class LowerKernelTest : public ::testing::Test {
 protected:
  // Buffers: a and b of 64 float32, out of 64, h of 64 float16.
  static std::string WithBuffers(std::string_view text) {
    return "%o = param{\"out\", 0, 64, global}:float32; %a = param{\"a\", 1, 64, global}:float32; "
           "%b = param{\"b\", 2, 64, global}:float32; %h = param{\"h\", 3, 64, global}:float16; " +
           std::string(text);
  }
  absl::StatusOr<Program> TryLower(std::string_view text, std::string_view opts = "") {
    absl::StatusOr<Ref> kernel = uop::Parse(g_, WithBuffers(text));
    EXPECT_THAT(kernel, support::IsOk());
    if (!kernel.ok()) return kernel.status();
    absl::StatusOr<std::vector<Opt>> list = ParseOpts(opts);
    EXPECT_THAT(list, support::IsOk());
    LowerOptions options = {.opts = *list};
    options.on_stage = [this](std::string_view name, Ref root) {
      stages_[std::string(name)] = root;
    };
    return LowerKernel(g_, *kernel, kTarget, options);
  }
  Program Lower(std::string_view text, std::string_view opts = "") {
    absl::StatusOr<Program> program = TryLower(text, opts);
    EXPECT_THAT(program, support::IsOk());
    return program.ok() ? *std::move(program)
                        : Program{.linear = g_.Make(Op::kLinear, DType::kVoid, {})};
  }
  // The kernel after a stage.
  std::string After(std::string_view stage) {
    Ref root = stages_[std::string(stage)];
    return root == nullptr ? "no such stage" : uop::ToText(root);
  }
  static int Count(const Program& program, Op op) {
    int count = 0;
    for (Ref n : program.linear->src()) count += n->Is(op) ? 1 : 0;
    return count;
  }
  // The ops of the program in order, loops as "for" and "end".
  static std::string Order(const Program& program) {
    std::string order;
    for (Ref n : program.linear->src()) {
      if (n->Is(Op::kRange)) order += "for" + std::to_string(n->arg.range().axis_id) + " ";
      if (n->Is(Op::kLoad) || n->Is(Op::kStore) || n->Is(Op::kEnd) || n->Is(Op::kMulAcc)) {
        order += std::string(uop::Name(n->op)) + " ";
      }
    }
    return order;
  }

  Graph g_;
  std::map<std::string, Ref> stages_;
};

// ** ranges **

TEST_F(LowerKernelTest, MergesRangesThatAreOneInEveryAccess) {
  Lower(
      "%i = r0:8; %j = r1:8; sink(store(index(%o, %i*8 + %j), load(index(%a, %i*8 + %j)), %i, "
      "%j))");
  EXPECT_THAT(After("simplify ranges"), HasSubstr("r0:64"));
  EXPECT_THAT(After("simplify ranges"), Not(HasSubstr("r1")));
}

TEST_F(LowerKernelTest, MergesRangesUnderOneQuotient) {
  // Rows of 16 out of what has rows of 8.
  Lower(
      "%i = r0:8; %j = r1:8; %k = %i*8 + %j; sink(store(index(%o, %k), load(index(%a, %k / 16 + %k "
      "% 16 * 4)), %i, %j))");
  EXPECT_THAT(After("simplify ranges"), HasSubstr("r0:64"));
  EXPECT_THAT(After("simplify ranges"), Not(HasSubstr("r1")));
}

TEST_F(LowerKernelTest, KeepsRangesThatATransposedAccessTellsApart) {
  Lower(
      "%i = r0:8; %j = r1:8; sink(store(index(%o, %i*8 + %j), load(index(%a, %j*8 + %i)), %i, "
      "%j))");
  EXPECT_THAT(After("simplify ranges"), HasSubstr("r1:8"));
}

TEST_F(LowerKernelTest, KeepsRangesThatAGateTellsApart) {
  Lower(
      "%i = r0:8; %j = r1:8; sink(store(index(%o, %i*8 + %j), load(index(%a, %i*8 + %j, %j < 3), "
      "0.0:float32), %i, %j))");
  EXPECT_THAT(After("simplify ranges"), HasSubstr("r1:8"));
}

TEST_F(LowerKernelTest, MergesRangesOfAReduction) {
  Lower(
      "sink(store(index(%o, 0), reduce{add}(load(index(%a, r2.reduce:8*8 + r3.reduce:8)), r2, "
      "r3)))");
  EXPECT_THAT(After("simplify ranges"), HasSubstr("r2.reduce:64"));
}

TEST_F(LowerKernelTest, MergesAnOuterRangeWithoutAConstantEnd) {
  Lower(
      "%i = range{0, loop}(n[0,8]); %j = r1:8; sink(store(index(%o, %i*8 + %j), load(index(%a, "
      "%i*8 + %j)), %i, %j))");
  EXPECT_THAT(After("simplify ranges"), HasSubstr("r0:(n[0,8] * 8)"));
}

TEST_F(LowerKernelTest, DropsRangesOfOneTurn) {
  Lower(
      "%i = r0:1; %j = r1:8; sink(store(index(%o, %i*8 + %j), reduce{add}(load(index(%a, %j)), "
      "r2.reduce:1), %i, %j))");
  EXPECT_EQ(After("simplify ranges"),
            "sink(store(index(param{\"out\", 0, 64, global}:float32, r1:8), "
            "load(index(param{\"a\", 1, 64, global}:float32, r1)), r1))");
}

TEST_F(LowerKernelTest, DropsRangesThatAreFoundToBeOfOneTurn) {
  EXPECT_EQ(Lower("%i = range{0, loop}(n[0,9] + 1 - n); %r = range{1, reduce}(n + 1 - n); "
                  "sink(store(index(%o, %i), reduce{add}(load(index(%a, %i + %r)), %r), %i))")
                .linear->num_src,
            4);
}

TEST_F(LowerKernelTest, AReductionOfNothingIsItsIdentity) {
  const auto value = [&](std::string_view by) {
    Lower("sink(store(index(%o, 0), reduce{" + std::string(by) +
          "}(load(index(%a, r2.reduce:0)), r2)))");
    return stages_["simplify ranges"]->src(0)->src(1)->arg.scalar().AsFloat();
  };
  EXPECT_EQ(value("add"), 0);
  EXPECT_EQ(value("mul"), 1);
  EXPECT_EQ(value("max"), -std::numeric_limits<double>::infinity());
}

TEST_F(LowerKernelTest, AStoreThatNeverHappensGoes) {
  EXPECT_EQ(Lower("%i = r0:0; sink(store(index(%o, %i), load(index(%a, %i)), %i))").linear->num_src,
            0);
}

// ** accesses **

TEST_F(LowerKernelTest, GatesWhatCannotBeProven) {
  const auto gates = [this](const std::string& kernel) {
    const Program program = Lower(kernel);
    int count = 0;
    for (Ref n : program.linear->src()) count += n->Is(Op::kIndex) && n->num_src == 3;
    return count;
  };
  EXPECT_EQ(gates("%i = r0:8; sink(store(index(%o, %i*9 + 2), 1.0:float32, %i))"), 1);
  EXPECT_EQ(gates("%i = r0:8; sink(store(index(%o, %i), load(index(%a, %i + -1)), %i))"), 1);
  EXPECT_EQ(gates("%i = r0:8; sink(store(index(%o, %i), load(index(%a, %i)), %i))"), 0);
}

TEST_F(LowerKernelTest, RefusesWhatIsNoKernel) {
  EXPECT_THAT(TryLower("reshape(%o, 64)"), support::StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(LowerKernelTest, AConditionOnALoadGatesIt) {
  const Program p = Lower(
      "%i = r0:64; sink(store(index(%o, %i), where(%i < 8, load(index(%a, %i + 3)), 2.0), %i))");
  EXPECT_EQ(Count(p, Op::kWhere), 0);
  EXPECT_THAT(
      After("simplify ranges"),
      HasSubstr("load(index(param{\"a\", 1, 64, global}:float32, r0 + 3, r0 < 8), 2.0:float32)"));
}

TEST_F(LowerKernelTest, LoadsComeBeforeTheStoreToTheirBuffer) {
  // Both stores use what `out` holds before.
  const Program p = Lower(
      "%i = r0:64; sink(store(index(%o, %i), load(index(%a, %i)), %i), store(index(%b, %i), "
      "load(index(%o, %i)), %i))");
  EXPECT_EQ(Order(p), "for0 load load store store end ");
  EXPECT_TRUE(p.buffers[0].is_read && p.buffers[0].is_written);
}

// ** reductions **

TEST_F(LowerKernelTest, AReductionIsAnAccumulatorAndALoop) {
  const Program p = Lower(
      "%i = r0:8; sink(store(index(%o, %i), reduce{add}(load(index(%a, %i*8 + r1.reduce:8)) * "
      "load(index(%b, r1)), r1), %i))");
  EXPECT_EQ(Order(p), "for0 store for1 load load load mulacc store end load store end ");
}

TEST_F(LowerKernelTest, ReductionsOverTheSameRangesShareTheirLoop) {
  const Program p = Lower(
      "%i = r0:8; %x = load(index(%a, %i*8 + r1.reduce:8)); sink(store(index(%o, %i), "
      "reduce{add}(%x, r1) + reduce{max}(%x, r1), %i))");
  EXPECT_EQ(Count(p, Op::kRange), 2);
  EXPECT_EQ(Count(p, Op::kEnd), 2);
}

TEST_F(LowerKernelTest, AReductionThatNeedsAnotherOverTheSameRangeGetsItsOwn) {
  const Program p = Lower(
      "%i = r0:8; %x = load(index(%a, %i*8 + r1.reduce:8)); sink(store(index(%o, %i), "
      "reduce{add}(%x * reduce{max}(%x, r1), r1), %i))");
  EXPECT_EQ(Count(p, Op::kRange), 3);
}

TEST_F(LowerKernelTest, WhatDoesNotDependOnALoopStandsBeforeIt) {
  const Program p = Lower(
      "%i = r0:8; %j = r1:8; sink(store(index(%o, %i*8 + %j), reduce{add}(load(index(%a, "
      "r2.reduce:64)), r2) * load(index(%b, %j*8 + %i)), %i, %j))");
  EXPECT_THAT(Order(p), testing::StartsWith("store for2 load load store end load for0 for1 "));
}

TEST_F(LowerKernelTest, AReductionInAReductionIsALoopInALoop) {
  const Program p = Lower(
      "sink(store(index(%o, 0), reduce{max}(reduce{add}(load(index(%a, r1.reduce:8 + "
      "r2.reduce:8*8)), r2) * load(index(%b, r1)), r1)))");
  EXPECT_EQ(Order(p),
            "store for1 store for2 load load store end load load load store end load store ");
}

TEST_F(LowerKernelTest, WhatIsUsedWithASumIsLoadedAfterItsLoop) {
  const Program p = Lower(
      "%i = r0:4; %j = r1:8; sink(store(index(%o, %i*8 + %j), reduce{add}(load(index(%a, %j*8 + "
      "r2.reduce:8)), r2) * load(index(%b, %i)), %i, %j))");
  EXPECT_EQ(Order(p), "for0 for1 store for2 load load store end load load store end end ")
      << "outside of for1, the factor would take a register through for2";
}

TEST_F(LowerKernelTest, AnAccumulatorHasTheLanesOfItsValueAndThoseThatAreReduced) {
  const Program p = Lower(
      "%i = r0:8; sink(store(index(%o, %i), reduce{add}(load(index(%a, %i*8 + r1.reduce:8)), r1), "
      "%i))",
      "UPCAST(0, 2) UNROLL(1, 4)");
  EXPECT_THAT(After("lower reductions"), HasSubstr("param{\"acc0\", 2, 8, reg}:float32"));
  EXPECT_EQ(Count(p, Op::kReduce), 1);
  EXPECT_EQ(p.vector_axis, 3) << "the lanes that are contiguous";
}

TEST_F(LowerKernelTest, AReductionOverLanesOnlyHasNoLoop) {
  const Program p = Lower(
      "%i = r0:8; sink(store(index(%o, %i), reduce{add}(load(index(%a, %i*8 + r1.reduce:8)), r1), "
      "%i))",
      "UNROLL(1, 0)");
  EXPECT_EQ(Order(p), "for0 load store end ");
  EXPECT_EQ(Count(p, Op::kReduce), 1);
}

TEST_F(LowerKernelTest, NarrowFloatsAccumulateInFloat32) {
  Lower(
      "sink(store(index(%h, 0), reduce{add}(load(index(param{\"x\", 4, 64, global}:float16, "
      "r1.reduce:64)), r1)))");
  EXPECT_THAT(After("lower reductions"), HasSubstr("reg}:float32"));
  EXPECT_THAT(After("lower reductions"), HasSubstr("):float16"));
}

// ** values **

TEST_F(LowerKernelTest, NarrowFloatsAreRoundedAfterEachOperation) {
  Lower("%x = load(index(%h, 0)); sink(store(index(%h, 1), %x * %x + %x))");
  EXPECT_THAT(After("split element indices"), HasSubstr("cast(cast(%"));
  Program native;
  Target target = kTarget;
  target.has_float16 = true;
  KILN_ASSERT_OK_AND_ASSIGN(
      Ref kernel,
      uop::Parse(g_, WithBuffers("%x = load(index(%h, 0)); sink(store(index(%h, 1), %x * %x))")));
  KILN_ASSERT_OK_AND_ASSIGN(native, LowerKernel(g_, kernel, target, {.opts = std::vector<Opt>()}));
  EXPECT_EQ(Count(native, Op::kCast), 0);
}

TEST_F(LowerKernelTest, LanesAreTermsOfElementIndices) {
  Lower(
      "%i = r0:2; %j = r1:16; sink(store(index(%o, %i*16 + %j), load(index(%a, %j*4 + %i)), %i, "
      "%j))",
      "UPCAST(1, 4)");
  EXPECT_THAT(After("lower arithmetic"), HasSubstr("r0 + r1 * 16 + r2 * 4"));
}

TEST_F(LowerKernelTest, IndicesAreAsWideAsTheyNeedToBe) {
  constexpr std::string_view kBig =
      "%i = range{0, loop}(5000000000); sink(store(index(param{\"big\", 0, 5000000000, "
      "global}:int8, %i), 1:int8, %i))";
  KILN_ASSERT_OK_AND_ASSIGN(Ref kernel, uop::Parse(g_, kBig));
  KILN_ASSERT_OK_AND_ASSIGN(const Program big,
                            LowerKernel(g_, kernel, kTarget, {.opts = std::vector<Opt>()}));
  EXPECT_EQ(big.linear->src(0)->dtype, DType::kInt64);
  EXPECT_EQ(Lower("sink(store(index(%o, r0:64), 1.0:float32, r0))").linear->src(0)->dtype,
            DType::kInt32);
}

// ** programs **

TEST_F(LowerKernelTest, TellsBuffersVariablesAndCores) {
  const Program p = Lower(
      "%i = r0:8; %n = n[0,7]; sink(store(index(%o, %i*8 + %n), load(index(%b, %i)) * "
      "cast(m[1,9]):float32, %i))",
      "THREAD(0, 2)");
  ASSERT_EQ(p.buffers.size(), 3);
  EXPECT_TRUE(p.buffers[0].is_written && !p.buffers[0].is_read);
  EXPECT_TRUE(!p.buffers[1].is_written && !p.buffers[1].is_read);
  EXPECT_EQ(p.buffers[2], (ProgramBuffer{DType::kFloat32, 64, true, false}));
  EXPECT_THAT(p.variables, ElementsAre(ProgramVariable{"m", 1, 9, DType::kInt32},
                                       ProgramVariable{"n", 0, 7, DType::kInt32}));
  EXPECT_EQ(p.num_cores, 2);
  EXPECT_EQ(p.name, "e_4");
}

TEST_F(LowerKernelTest, EstimatesWorkAndBytes) {
  const Program p = Lower(
      "%i = r0:8; sink(store(index(%o, %i), reduce{add}(load(index(%a, %i*8 + r1.reduce:8)) * "
      "load(index(%b, r1)), r1), %i))",
      "UPCAST(0, 4)");
  EXPECT_EQ(p.flops, 2 * 64);
  EXPECT_EQ(p.bytes, 4 * (64 + 2 * 8 + 8)) << "what all lanes share is loaded once";
}

TEST_F(LowerKernelTest, TextOfAProgramReadsBack) {
  const Program p = Lower(
      "%i = r0:8; sink(store(index(%o, %i + n[0,9]), reduce{add}(load(index(%a, %i*8 + "
      "r1.reduce:8)), r1), %i))",
      "UNROLL(1, 4) THREAD(0, 2)");
  Graph other;
  KILN_ASSERT_OK_AND_ASSIGN(const Program q, ParseProgram(other, ToText(p)));
  EXPECT_EQ(ToText(q), ToText(p));
  EXPECT_EQ(q.buffers, p.buffers);
  EXPECT_EQ(q.variables, p.variables);
  EXPECT_EQ(q.num_cores, 2);
  EXPECT_EQ(q.vector_axis, p.vector_axis);
}

TEST_F(LowerKernelTest, ABrokenTextIsAnError) {
  const std::string text = ToText(Lower("sink(store(index(%o, r0:64), load(index(%a, r0)), r0))"));
  for (size_t i = 0; i + 1 < text.size(); i += 7) {
    Graph other;
    EXPECT_THAT(ParseProgram(other, text.substr(0, i)), Not(support::IsOk())) << i;
  }
  Graph other;
  EXPECT_THAT(
      ParseProgram(other, "program p buffers 0 vector_axis -1\n" + text.substr(text.find('\n'))),
      support::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has a param with number")));
}

TEST_F(LowerKernelTest, IsAFunctionOfTheKernel) {
  constexpr std::string_view kText =
      "%i = r0:8; sink(store(index(%o, %i), reduce{add}(load(index(%a, %i*8 + r1.reduce:8)), r1), "
      "%i))";
  const std::string text = ToText(Lower(kText));
  Graph other;
  other.Add(other.Index(3), other.Variable("x", 0, 1));  // Other ids.
  KILN_ASSERT_OK_AND_ASSIGN(Ref kernel, uop::Parse(other, WithBuffers(kText)));
  KILN_ASSERT_OK_AND_ASSIGN(const Program p,
                            LowerKernel(other, kernel, kTarget, {.opts = std::vector<Opt>()}));
  EXPECT_EQ(ToText(p), text);
}

}  // namespace
}  // namespace kiln::codegen
