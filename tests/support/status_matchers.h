// Expectations on absl::Status and absl::StatusOr.
//
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected")));
//   EXPECT_THAT(Evaluate(g, n, {}), IsOkAndHolds(Scalar::Int(3)));
//   KILN_ASSERT_OK_AND_ASSIGN(Ref n, Simplify(g, e));
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/status.h"

namespace kiln::support {

// Matches a Status or StatusOr with this code and a message that matches.
MATCHER_P2(StatusIsMatcher, code, message,
           std::string(negation ? "is not " : "is ") + absl::StatusCodeToString(code) +
               " with a message that " +
               ::testing::DescribeMatcher<std::string>(message, negation)) {
  const absl::Status& status = ::kiln::internal::StatusOf(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code && ::testing::Matches(message)(std::string(status.message()));
}
template <typename MessageMatcher>
auto StatusIs(absl::StatusCode code, MessageMatcher message) {
  return StatusIsMatcher(code, std::move(message));
}
inline auto StatusIs(absl::StatusCode code) { return StatusIs(code, ::testing::_); }

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << "which is " << ::kiln::internal::StatusOf(arg).ToString();
  return arg.ok();
}

// Matches a StatusOr that holds a value which matches (or equals) `value`.
MATCHER_P(IsOkAndHolds, value,
          std::string("is OK and holds a value that ") +
              ::testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(value,
                                                                                      negation)) {
  if (!arg.ok()) {
    *result_listener << "which is " << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace kiln::support

#define KILN_EXPECT_OK(expr) EXPECT_THAT(expr, ::kiln::support::IsOk())
#define KILN_ASSERT_OK(expr) ASSERT_THAT(expr, ::kiln::support::IsOk())

// Declares or assigns `lhs` from a StatusOr; an error fails the test and returns from the function.
// `lhs` has no commas outside of parentheses.
#define KILN_ASSERT_OK_AND_ASSIGN(lhs, ...)                                             \
  KILN_INTERNAL_ASSERT_OK_AND_ASSIGN(KILN_INTERNAL_CONCAT(kiln_result_, __LINE__), lhs, \
                                     (__VA_ARGS__))
#define KILN_INTERNAL_ASSERT_OK_AND_ASSIGN(result, lhs, expr) \
  auto result = expr;                                         \
  ASSERT_THAT(result, ::kiln::support::IsOk());               \
  lhs = *std::move(result)
