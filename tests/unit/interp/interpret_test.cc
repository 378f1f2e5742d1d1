#include "backends/interp/interpret.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/codegen/program_text.h"
#include "tests/support/status_matchers.h"

namespace kiln::interp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InterpretTest : public ::testing::Test {
 protected:
  // Programs on two buffers of 8 int32: 0 is `out`, 1 is `in`.
  absl::Status Run(std::string_view nodes, std::vector<int64_t> variables = {}, int32_t core = 0) {
    const std::string text =
        "program p buffers 2 vector_axis -1\n"
        "%out = param{\"out\", 0, 8, global}:int32; %in = param{\"in\", 1, 8, global}:int32; "
        "%acc = param{\"acc0\", 2, 4, reg}:int32; " +
        std::string(nodes);
    absl::StatusOr<codegen::Program> program = codegen::ParseProgram(g_, text);
    EXPECT_THAT(program, support::IsOk());
    if (!program.ok()) return program.status();
    // Those that the program does not use have no size of their own.
    for (codegen::ProgramBuffer& b : program->buffers) b = {DType::kInt32, 8, true, true};
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(g_, *program);
    if (!interpreter.ok()) return interpreter.status();
    const absl::Span<std::byte> buffers[] = {Bytes(out_), Bytes(in_)};
    return interpreter->Run(buffers, variables, core);
  }
  static absl::Span<std::byte> Bytes(std::vector<int32_t>& v) {
    return {reinterpret_cast<std::byte*>(v.data()), v.size() * sizeof(int32_t)};
  }

  Graph g_;
  std::vector<int32_t> out_ = std::vector<int32_t>(8, -1);
  std::vector<int32_t> in_ = {3, 1, 4, 1, 5, 9, 2, 6};
};

TEST_F(InterpretTest, RunsLoops) {
  KILN_EXPECT_OK(
      Run("%r = r0:4:int32; %pi = index(%in, %r); %x = load(%pi); %po = index(%out, %r); "
          "%s = store(%po, %x); linear(%r, %pi, %x, %po, %s, end(%s, %r))"));
  EXPECT_THAT(out_, ElementsAre(3, 1, 4, 1, -1, -1, -1, -1));
}

TEST_F(InterpretTest, ALoopWithoutTurnsIsSkipped) {
  KILN_EXPECT_OK(
      Run("%n = n[0,8]:int32; %r = r0:(%n); %p = index(%out, %r); %s = store(%p, 7:int32); "
          "linear(%n, %r, %p, %s, end(%s, %r))",
          {0}));
  EXPECT_THAT(out_, ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1));
}

TEST_F(InterpretTest, ComputesAllLanes) {
  // out[2 * u + v] = in[v] * u
  KILN_EXPECT_OK(
      Run("%u = r0.upcast:2:int32; %v = r1.upcast:2:int32; %pi = index(%in, %v); "
          "%x = load(%pi); %y = %x * %u; %e = %u * 2; %f = %e + %v; %po = index(%out, %f); "
          "linear(%pi, %x, %y, %e, %f, %po, store(%po, %y))"));
  EXPECT_THAT(out_, ElementsAre(0, 0, 3, 1, -1, -1, -1, -1));
}

TEST_F(InterpretTest, ReducesLanes) {
  KILN_EXPECT_OK(
      Run("%u = r0.upcast:2:int32; %v = r1.unroll:4:int32; %e = %u * 4; %f = %e + %v; "
          "%pi = index(%in, %f); %x = load(%pi); %t = reduce{add}(%x, %v); "
          "%po = index(%out, %u); linear(%e, %f, %pi, %x, %t, %po, store(%po, %t))"));
  EXPECT_THAT(out_, ElementsAre(9, 22, -1, -1, -1, -1, -1, -1));
}

TEST_F(InterpretTest, ALaneThatTheOperandHasNotCountsAllTheSame) {
  KILN_EXPECT_OK(
      Run("%pi = index(%in, 0:int32); %x = load(%pi); %t = reduce{add}(%x, r0.unroll:4:int32); "
          "%po = index(%out, 0:int32); linear(%pi, %x, %t, %po, store(%po, %t))"));
  EXPECT_EQ(out_[0], 12);
}

TEST_F(InterpretTest, GatesNeitherReadNorWrite) {
  KILN_EXPECT_OK(
      Run("%v = r0.upcast:8:int32; %e = %v + 4; %g = %v < 4; %pi = index(%in, %e, %g); "
          "%x = load(%pi, 70:int32); %h = %v != 1; %po = index(%out, %v, %h); "
          "linear(%e, %g, %pi, %x, %h, %po, store(%po, %x))"));
  EXPECT_THAT(out_, ElementsAre(5, -1, 2, 6, 70, 70, 70, 70));
}

TEST_F(InterpretTest, KnowsItsCore) {
  constexpr std::string_view kText =
      "%c = core:2:int32; %p = index(%out, %c); linear(%c, %p, store(%p, %c))";
  KILN_EXPECT_OK(Run(kText, {}, 1));
  EXPECT_EQ(out_[0], -1);
  EXPECT_EQ(out_[1], 1);
  EXPECT_THAT(Run(kText, {}, 2), support::StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("core 2 of a program for 2")));
}

TEST_F(InterpretTest, RefusesAnAccessOutsideItsBuffer) {
  EXPECT_THAT(Run("%r = r0:9:int32; %p = index(%in, %r); %x = load(%p); %q = index(%out, 0:int32); "
                  "%s = store(%q, %x); "
                  "linear(%r, %p, %x, %q, %s, end(%s, %r))"),
              support::StatusIs(absl::StatusCode::kInternal,
                                HasSubstr("accesses element 8 of 8 of buffer 1")));
  EXPECT_THAT(Run("%v = r0.upcast:2:int32; %e = %v + -1; %p = index(%out, %e); linear(%e, %p, "
                  "store(%p, 1:int32))"),
              support::StatusIs(absl::StatusCode::kInternal,
                                HasSubstr("accesses element -1 of 8 of buffer 0")));
  EXPECT_THAT(Run("%p = index(%acc, 4:int32); linear(%p, store(%p, 1:int32))"),
              support::StatusIs(absl::StatusCode::kInternal,
                                HasSubstr("accesses element 4 of 4 of accumulator 0")));
}

TEST_F(InterpretTest, RefusesAnAccumulatorThatWasNotWritten) {
  EXPECT_THAT(Run("%p = index(%acc, 1:int32); %x = load(%p); %q = index(%out, 0:int32); linear(%p, "
                  "%x, %q, store(%q, %x))"),
              support::StatusIs(absl::StatusCode::kInternal,
                                HasSubstr("reads an element that was not written")));
}

TEST_F(InterpretTest, RefusesWhatIsNotBound) {
  constexpr std::string_view kText =
      "%n = n[2,5]:int32; %p = index(%out, %n); linear(%n, %p, store(%p, 1:int32))";
  KILN_EXPECT_OK(Run(kText, {5}));
  EXPECT_THAT(Run(kText, {6}), support::StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("variable n is 6, not in [2, 5]")));
  EXPECT_THAT(Run(kText), support::StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("1 variables, 0 are bound")));
}

TEST_F(InterpretTest, RefusesShortBuffers) {
  out_.resize(7);
  EXPECT_THAT(Run("%p = index(%out, 0:int32); linear(%p, store(%p, 1:int32))"),
              support::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("buffer 0 has 28 bytes, program needs 32")));
  // With variables, a buffer is as long as their values need.
  constexpr std::string_view kText =
      "%n = n[2,7]:int32; %p = index(%out, %n); linear(%n, %p, store(%p, 1:int32))";
  KILN_EXPECT_OK(Run(kText, {6}));
  EXPECT_THAT(Run(kText, {7}),
              support::StatusIs(absl::StatusCode::kInternal, HasSubstr("accesses element 7 of 7")));
}

TEST_F(InterpretTest, RefusesInstructionsThatItHasNot) {
  EXPECT_THAT(Run("linear(barrier())"), support::StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Run("%s = lidx0:4:int32; linear(%s)"),
              support::StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace kiln::interp
