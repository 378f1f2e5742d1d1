// Expectations on simplification, in text.
//
//   EXPECT_SIMPLIFIES("r0:64 % 64", "r0");
//   EXPECT_SIMPLIFIES_AT(symbolic::Effort::kFold, "i[0,9] + 0", "i");
//   EXPECT_STAYS("i[-9,9] / 4");
#pragma once

#include <string_view>

#include "gtest/gtest.h"

#include "core/symbolic/simplify.h"

namespace kiln::support {

// Whether `from` (the text of one expression: core/uop/text.h) simplifies to exactly `to`, which
// may use the variables and named nodes of `from`.
::testing::AssertionResult Simplifies(std::string_view from, std::string_view to,
                                      symbolic::Effort effort = symbolic::Effort::kFull);

}  // namespace kiln::support

#define EXPECT_SIMPLIFIES(from, to) EXPECT_TRUE(::kiln::support::Simplifies(from, to))
#define EXPECT_SIMPLIFIES_AT(effort, from, to) \
  EXPECT_TRUE(::kiln::support::Simplifies(from, to, effort))
// What must not be touched: there is no simpler form, or what looks like one has other values.
#define EXPECT_STAYS(text) EXPECT_SIMPLIFIES(text, "")
