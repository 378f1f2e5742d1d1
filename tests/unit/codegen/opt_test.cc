#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/codegen/kernel_ranges.h"
#include "core/codegen/lower_kernel.h"
#include "core/codegen/opt/apply.h"
#include "core/codegen/opt/heuristics.h"
#include "core/rewrite/specs.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"

namespace kiln::codegen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Target kTarget = {.name = "test", .ops = {Op::kMulAcc, Op::kMax}, .cores = 2};

std::string Buffers() {
  return "%o = param{\"out\", 0, 4096, global}:float32; %a = param{\"a\", 1, 4096, "
         "global}:float32; "
         "%b = param{\"b\", 2, 4096, global}:float32; ";
}

TEST(OptText, ReadsBack) {
  constexpr std::string_view kText =
      "UPCAST(1, 16) UNROLL(2, 4) THREAD(0, 2) SWAP(0, 1) PADTO(-1, 8)";
  KILN_ASSERT_OK_AND_ASSIGN(const std::vector<Opt> opts, ParseOpts(kText));
  EXPECT_EQ(ToText(opts), kText);
  EXPECT_THAT(ParseOpts("  "), support::IsOkAndHolds(testing::IsEmpty()));
  for (std::string_view bad : {"UPCAST", "UPCAST(1)", "UPCAST(1, x)", "UPCAST(1, 2", "LOCAL(1, 2)",
                               "UPCAST(1, 2, 3)", "UPCAST(1, 2) )"}) {
    EXPECT_THAT(ParseOpts(bad),
                support::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no opt")))
        << bad;
  }
}

class ApplyOptTest : public ::testing::Test {
 protected:
  // The kernel after the opts, or the last error.
  absl::StatusOr<Ref> Apply(std::string_view kernel, std::string_view opts) {
    absl::StatusOr<Ref> root = uop::Parse(g_, Buffers() + std::string(kernel));
    EXPECT_THAT(root, support::IsOk());
    const absl::StatusOr<std::vector<Opt>> list = ParseOpts(opts);
    EXPECT_THAT(list, support::IsOk());
    for (const Opt& opt : *list) {
      if (root.ok()) root = ApplyOpt(g_, *root, opt, kTarget);
    }
    if (root.ok()) {
      EXPECT_THAT(rewrite::Verify(g_, *root, rewrite::kKernelSpec), support::IsOk());
    }
    return root;
  }
  std::string Text(std::string_view kernel, std::string_view opts) {
    const absl::StatusOr<Ref> root = Apply(kernel, opts);
    return root.ok() ? uop::ToText(*root) : root.status().ToString();
  }
  void ExpectIllegal(std::string_view kernel, std::string_view opts, std::string_view reason) {
    EXPECT_THAT(Apply(kernel, opts), support::StatusIs(absl::StatusCode::kInvalidArgument,
                                                       HasSubstr(std::string(reason))))
        << opts;
  }

  Graph g_;
  const std::string copy_ = "%i = r0:12; sink(store(index(%o, %i), load(index(%a, %i)), %i))";
  const std::string sum_ =
      "%i = r0:8; sink(store(index(%o, %i), reduce{add}(load(index(%a, %i*12 + r1.reduce:12)), "
      "r1), %i))";
  const std::string symbolic_ =
      "%i = range{0, loop}(n[1,9]); sink(store(index(%o, %i), load(index(%a, %i)), %i))";
};

TEST_F(ApplyOptTest, UpcastSplitsALoop) {
  EXPECT_EQ(
      Text(copy_, "UPCAST(0, 4)"),
      "%0 = r0:3 * 4 + r1.upcast:4; sink(store(index(param{\"out\", 0, 4096, global}:float32, %0), "
      "load(index(param{\"a\", 1, 4096, global}:float32, %0)), r0))");
  EXPECT_THAT(Text(copy_, "UPCAST(0, 0)"), Not(HasSubstr("loop")));
}

TEST_F(ApplyOptTest, UnrollSplitsAReduction) {
  EXPECT_THAT(Text(sum_, "UNROLL(1, 4)"), HasSubstr("r1.reduce:3 * 4 + r2.unroll:4))), r1, r2)"));
  EXPECT_THAT(Text(sum_, "UNROLL(1, 12)"), HasSubstr("r2.unroll:12)), r2)"));
}

TEST_F(ApplyOptTest, ThreadGivesEachCoreAContiguousPart) {
  EXPECT_THAT(Text(copy_, "THREAD(0, 2)"), HasSubstr("core:2 * 6 + r0:6"));
  EXPECT_THAT(Text(copy_, "THREAD(0, 12)"), Not(HasSubstr("r0")));
}

TEST_F(ApplyOptTest, SwapExchangesPlacesInTheOrderOfLoops) {
  const std::string kernel =
      "%i = r0:4; %j = r1:8; sink(store(index(%o, %i*8 + %j), 1.0:float32, %i, %j))";
  EXPECT_THAT(Text(kernel, "SWAP(0, 1)"), HasSubstr("r1:4 * 8 + r0:8), 1.0:float32, r1, r0"));
}

TEST_F(ApplyOptTest, PadGatesAccesses) {
  EXPECT_EQ(Text(copy_, "PADTO(0, 16)"),
            "%0 = r0:16 < 12; sink(store(index(param{\"out\", 0, 4096, global}:float32, r0, %0), "
            "load(index(param{\"a\", 1, 4096, global}:float32, r0, %0), 0.0:float32), r0))");
  EXPECT_THAT(Text(sum_, "PADTO(1, 16)"), HasSubstr("reduce{add}(where(%"));
}

TEST_F(ApplyOptTest, PartsThatEndBeforeOthersBeginShareLanes) {
  const std::string softmax =
      "%i = r0:8; %j = r1:16; %m = reduce{max}(load(index(%a, %i*16 + r2.reduce:16)), r2); "
      "sink(store(index(%o, %i*16 + %j), load(index(%a, %i*16 + %j)) * %m, %i, %j))";
  KILN_ASSERT_OK_AND_ASSIGN(Ref shared, Apply(softmax, "UNROLL(2, 8) UPCAST(1, 8)"));
  EXPECT_EQ(internal::RangesBelow(shared).size(), 4) << uop::ToText(shared);
  // Not where the reduction has both.
  const std::string product =
      "%i = r0:8; %j = r1:16; sink(store(index(%o, %i*16 + %j), "
      "reduce{add}(load(index(%a, %i*16 + r2.reduce:16)) * load(index(%b, r2*16 + %j)), r2), %i, "
      "%j))";
  KILN_ASSERT_OK_AND_ASSIGN(Ref apart, Apply(product, "UNROLL(2, 8) UPCAST(1, 8)"));
  EXPECT_EQ(internal::RangesBelow(apart).size(), 5) << uop::ToText(apart);
}

TEST_F(ApplyOptTest, SaysWhyAnOptIsNotLegal) {
  ExpectIllegal(copy_, "UPCAST(3, 4)", "UPCAST(3, 4) is not legal: there is no range 3");
  ExpectIllegal(copy_, "UPCAST(0, 5)", "5 does not divide the end of range 0, 12");
  ExpectIllegal(copy_, "UPCAST(0, 1)", "it needs an amount of at least 2");
  ExpectIllegal(copy_, "UPCAST(0, -4)", "it needs a positive amount");
  ExpectIllegal(symbolic_, "UPCAST(0, 4)", "range 0 has no constant end");
  ExpectIllegal(sum_, "UPCAST(1, 4)", "range 1 is of type reduce, not loop");
  ExpectIllegal(copy_, "UPCAST(0, 4) UPCAST(1, 2)", "range 1 is of type upcast, not loop");
  ExpectIllegal("%i = r0:1024; sink(store(index(%o, %i), 1.0:float32, %i))", "UPCAST(0, 1024)",
                "more than 512 lanes");
  ExpectIllegal("%i = r0:1024; sink(store(index(%o, %i), 1.0:float32, %i))",
                "UPCAST(0, 32) UPCAST(0, 32)", "more than 512 lanes");
  ExpectIllegal("%i = r0:8; sink(store(index(%o, 0), 1.0:float32, %i))", "UPCAST(0, 4)",
                "a store does not depend on range 0");

  ExpectIllegal(sum_, "UNROLL(0, 4)", "range 0 is of type loop, not reduce");
  ExpectIllegal(sum_, "UNROLL(1, 5)", "5 does not divide");

  ExpectIllegal(sum_, "THREAD(1, 2)", "range 1 is of type reduce, not loop");
  ExpectIllegal(copy_, "THREAD(0, 5)", "5 does not divide");
  ExpectIllegal(symbolic_, "THREAD(0, 2)", "range 0 has no constant end");
  ExpectIllegal(copy_, "THREAD(0, 2) THREAD(0, 2)", "the kernel is split over cores already");
  ExpectIllegal("%i = r0:4096; sink(store(index(%o, %i), 1.0:float32, %i))", "THREAD(0, 4096)",
                "more than 1024 cores");
  ExpectIllegal("%i = r0:8; sink(store(index(%o, 0), 1.0:float32, %i))", "THREAD(0, 2)",
                "a store does not depend on range 0");

  ExpectIllegal(copy_, "SWAP(0, 0)", "it needs two ranges");
  ExpectIllegal(copy_, "SWAP(0, 7)", "there is no range 7");
  ExpectIllegal(sum_, "SWAP(0, 1)", "ranges 0 and 1 do not end together");
  ExpectIllegal(copy_, "UPCAST(0, 4) SWAP(0, 1)", "lanes have no order");

  ExpectIllegal(copy_, "PADTO(0, 4)", "range 0 is a multiple already");
  ExpectIllegal(symbolic_, "PADTO(0, 4)", "range 0 has no constant end");
  ExpectIllegal(copy_, "UPCAST(0, 4) PADTO(1, 8)", "lanes are not padded");
}

// ** heuristics **

class HeuristicsTest : public ApplyOptTest {
 protected:
  std::string Chosen(std::string_view kernel, Target target = kTarget) {
    const absl::StatusOr<Ref> root = uop::Parse(g_, std::string(kernel));
    EXPECT_THAT(root, support::IsOk());
    const absl::StatusOr<Program> program = LowerKernel(g_, *root, target);
    EXPECT_THAT(program, support::IsOk());
    return program.ok() ? ToText(program->opts) : "";
  }
  static std::string Param(int number, int64_t elems) {
    return "param{\"p" + std::to_string(number) + "\", " + std::to_string(number) + ", " +
           std::to_string(elems) + ", global}:float32";
  }
};

TEST_F(HeuristicsTest, ElementwiseKernelsAreVectorsOnAllCores) {
  const std::string p0 = Param(0, 1 << 20), p1 = Param(1, 1 << 20);
  EXPECT_EQ(
      Chosen("sink(store(index(" + p0 + ", r0:1048576), load(index(" + p1 + ", r0)) + 1.0, r0))"),
      "UPCAST(0, 16) UPCAST(0, 4) THREAD(0, 2)");
}

TEST_F(HeuristicsTest, SmallAndOddSizesArePadded) {
  EXPECT_EQ(Chosen("sink(store(index(" + Param(0, 10) + ", r0:10), load(index(" + Param(1, 10) +
                   ", r0)) + 1.0, r0))"),
            "PADTO(0, 16) UPCAST(0, 16)");
  EXPECT_EQ(Chosen("sink(store(index(" + Param(0, 7) + ", r0:7), load(index(" + Param(1, 7) +
                   ", r0)) + 1.0, r0))"),
            "PADTO(0, 8) UPCAST(0, 8)");
}

TEST_F(HeuristicsTest, RowsAreReducedAlongThemselves) {
  EXPECT_EQ(
      Chosen("%i = r0:1024; sink(store(index(" + Param(0, 1024) + ", %i), reduce{add}(load(index(" +
             Param(1, 1 << 20) + ", %i*1024 + r1.reduce:1024)), r1), %i))"),
      "UNROLL(1, 16) UNROLL(1, 4) THREAD(0, 2)");
}

TEST_F(HeuristicsTest, ColumnsAreReducedSideBySide) {
  EXPECT_EQ(
      Chosen("%i = r0:1024; sink(store(index(" + Param(0, 1024) + ", %i), reduce{add}(load(index(" +
             Param(1, 1 << 20) + ", r1.reduce:1024*1024 + %i)), r1), %i))"),
      "UPCAST(0, 16) UPCAST(0, 4) THREAD(0, 2)");
}

TEST_F(HeuristicsTest, ProductsOfMatricesAreTiles) {
  const std::string kernel = "%i = r0:512; %j = r1:512; %k = r2.reduce:512; sink(store(index(" +
                             Param(0, 1 << 18) + ", %i*512 + %j), reduce{add}(load(index(" +
                             Param(1, 1 << 18) + ", %i*512 + %k)) * load(index(" +
                             Param(2, 1 << 18) + ", %k*512 + %j)), %k), %i, %j))";
  EXPECT_EQ(Chosen(kernel), "UPCAST(1, 16) UPCAST(0, 8) UPCAST(1, 2) THREAD(0, 2)");
  Target narrow = kTarget;
  narrow.vector_bytes = 32;
  narrow.registers = 16;
  EXPECT_EQ(Chosen(kernel, narrow), "UPCAST(1, 8) UPCAST(0, 8) THREAD(0, 2)");
}

TEST_F(HeuristicsTest, MasksOfConvolutionsAreComputedOutsideOfTheInnerLoop) {
  EXPECT_EQ(
      Chosen("%o = r0:64; %x = r1:1024; %c = r2.reduce:64; %k = r3.reduce:3; %i = %x + %k + "
             "-1; sink(store(index(" +
             Param(0, 1 << 16) + ", %o*1024 + %x), reduce{add}(load(index(" + Param(1, 1 << 16) +
             ", %c*1024 + %i, ((%i < 0) != true) & (%i < 1024)), 0.0:float32) * load(index(" +
             Param(2, 64 * 64 * 3) + ", %o*192 + %c*3 + %k)), %c, %k), %o, %x))"),
      "UPCAST(1, 16) UPCAST(0, 8) UPCAST(1, 2) SWAP(2, 3) THREAD(0, 2)");
}

TEST_F(HeuristicsTest, TranspositionsKeepTheirLoadsContiguous) {
  EXPECT_EQ(Chosen("%i = r0:64; %j = r1:64; sink(store(index(" + Param(0, 4096) +
                   ", %i*64 + %j), load(index(" + Param(1, 4096) + ", %j*64 + %i)), %i, %j))"),
            "UPCAST(0, 8)");
}

TEST_F(HeuristicsTest, ATargetWithoutLanesHasNone) {
  Target scalar = kTarget;
  scalar.has_lanes = false;
  scalar.cores = 1;
  EXPECT_EQ(Chosen("sink(store(index(" + Param(0, 4096) + ", r0:4096), load(index(" +
                       Param(1, 4096) + ", r0)) + 1.0, r0))",
                   scalar),
            "");
}

}  // namespace
}  // namespace kiln::codegen
