#include "tests/support/expect_simplifies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kiln::support {
namespace {

using ::testing::HasSubstr;

TEST(ExpectSimplifies, TakesTheTextOfBothSides) {
  EXPECT_SIMPLIFIES("r0:64 % 64", "r0:64");
  EXPECT_SIMPLIFIES("r0:64 % 64", "r0");
  EXPECT_SIMPLIFIES("i[0,9] < 10", "true");
  EXPECT_SIMPLIFIES_AT(symbolic::Effort::kFold, "i[0,9] + 0", "i");
  EXPECT_STAYS("i[-9,9] / 4");
}

TEST(ExpectSimplifies, ShowsWhatCameOutInstead) {
  const ::testing::AssertionResult result = Simplifies("i[0,9] * 1", "i + 1");
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("simplifies to i[0,9]\n"));
  EXPECT_THAT(result.message(), HasSubstr("instead of    i[0,9] + 1"));
}

TEST(ExpectSimplifies, RefusesWhatDoesNotParse) {
  EXPECT_FALSE(Simplifies("i[0,9] +", "i"));
  EXPECT_FALSE(Simplifies("i[0,9]", "i, i"));
}

}  // namespace
}  // namespace kiln::support
