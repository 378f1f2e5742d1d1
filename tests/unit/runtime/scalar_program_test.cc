#include "core/runtime/scalar_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/uop/parse.h"
#include "tests/support/status_matchers.h"

namespace kiln::runtime {
namespace {

using support::IsOkAndHolds;
using support::StatusIs;
using testing::HasSubstr;

// The value of an expression in i and j.
absl::StatusOr<int64_t> Value(std::string_view text, int64_t i, int64_t j) {
  Graph g;
  KILN_ASSIGN_OR_RETURN(const Ref n, uop::Parse(g, text));
  const std::vector<std::string> names = {"i", "j"};
  ScalarProgramBuilder builder(names);
  KILN_ASSIGN_OR_RETURN(const SymbolicInt value, builder.Add(n));
  const ScalarProgram program = std::move(builder).Finish();
  KILN_ASSIGN_OR_RETURN(const std::vector<Scalar> values, program.Evaluate({i, j}));
  return ValueOf(value, values);
}

TEST(ScalarProgram, EvaluatesSizesAndConditions) {
  EXPECT_THAT(Value("7", 1, 2), IsOkAndHolds(7));
  EXPECT_THAT(Value("i[0,100]", 5, 0), IsOkAndHolds(5));
  EXPECT_THAT(Value("(i[0,100] * 3 + j[0,100]) / 4 + i % 3", 5, 2), IsOkAndHolds(4 + 2));
  EXPECT_THAT(Value("i[0,100] < j[0,100]", 1, 2), IsOkAndHolds(1));
  EXPECT_THAT(Value("max(i[0,100], j[0,100]) * -1", 3, 2), IsOkAndHolds(-3));
  EXPECT_THAT(Value("where(i[0,100] < 3, i, 9)", 5, 0), IsOkAndHolds(9));
}

TEST(ScalarProgram, WhatIsNotTakenMayBeUndefined) {
  EXPECT_THAT(Value("where(i[0,100] < 1, 7, 10 / i)", 0, 0), IsOkAndHolds(7));
  EXPECT_THAT(Value("10 / i[0,100]", 0, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("i")));
}

TEST(ScalarProgram, ValuesBeyondInt64AreErrors) {
  constexpr int64_t kBig = int64_t{1} << 40;
  EXPECT_THAT(Value("i[0,1099511627776] * j[0,1099511627776]", kBig, kBig),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ScalarProgram, RefusesWhatIsNoSize) {
  EXPECT_THAT(Value("k[0,7] + 1", 0, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Value("r0:64 + 1", 0, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Value("x[0,1]:float32 * 0.5", 0, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kiln::runtime
