#include "tests/support/status_matchers.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace kiln::support {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Check(bool ok) {
  return ok ? absl::OkStatus() : absl::InvalidArgumentError("it is bad");
}
absl::StatusOr<std::unique_ptr<int>> Make(bool ok) {
  KILN_RETURN_IF_ERROR(Check(ok)) << "while making " << 3;
  return std::make_unique<int>(3);
}
absl::StatusOr<int> Value(bool ok) {
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<int> made, Make(ok), _ << "for its value");
  return *made;
}
absl::Status Chosen(bool first) {
  // The `else` belongs to the `if` that one sees.
  if (first)
    KILN_RETURN_IF_ERROR(Check(false)) << "first";
  else
    KILN_RETURN_IF_ERROR(Check(false)) << "second";
  return absl::OkStatus();
}

TEST(StatusMatchers, MatchCodeAndMessage) {
  EXPECT_THAT(Check(false), StatusIs(kInvalid));
  EXPECT_THAT(Check(false), StatusIs(kInvalid, "it is bad"));
  EXPECT_THAT(Check(false), StatusIs(kInvalid, HasSubstr("bad")));
  EXPECT_THAT(Check(false), Not(StatusIs(kInvalid, "bad")));
  EXPECT_THAT(Value(false), Not(StatusIs(absl::StatusCode::kInternal)));
  EXPECT_THAT(Value(true), IsOkAndHolds(3));
  EXPECT_THAT(Value(true), IsOkAndHolds(Gt(2)));
  EXPECT_THAT(Value(true), Not(IsOkAndHolds(4)));
  EXPECT_THAT(Value(false), Not(IsOkAndHolds(3)));
  KILN_EXPECT_OK(Check(true));
}

TEST(StatusMatchers, AssignOrFail) {
  KILN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<int> made, Make(true));
  EXPECT_EQ(*made, 3);
  EXPECT_FATAL_FAILURE(
      [] { KILN_ASSERT_OK_AND_ASSIGN([[maybe_unused]] const int value, Value(false)); }(),
      "it is bad");
}

// core/dtype/status.h
TEST(Status, CollectsContextOnItsWayUp) {
  EXPECT_THAT(Make(false), StatusIs(kInvalid, "it is bad: while making 3"));
  EXPECT_THAT(Value(false), StatusIs(kInvalid, "it is bad: while making 3: for its value"));
  EXPECT_THAT(Chosen(true), StatusIs(kInvalid, "it is bad: first"));
  EXPECT_THAT(Chosen(false), StatusIs(kInvalid, "it is bad: second"));
}

TEST(Status, KeepsPayloads) {
  absl::Status status = absl::UnavailableError("later");
  status.SetPayload("url", absl::Cord("hint"));
  const absl::Status longer = StatusBuilder(status) << "while waiting";
  EXPECT_EQ(longer.GetPayload("url"), absl::Cord("hint"));
}

}  // namespace
}  // namespace kiln::support
