#include "gtest/gtest.h"

#include "tests/support/expect_simplifies.h"

namespace kiln::symbolic {
namespace {

TEST(StackRules, FoldConstants) {
  EXPECT_SIMPLIFIES("stack(1:int32, 2:int32) + stack(3:int32, 4:int32)", "stack(4:int32, 6:int32)");
  EXPECT_SIMPLIFIES("stack(1:int32, 2:int32) * 5", "stack(5:int32, 10:int32)");
  EXPECT_SIMPLIFIES("12:int32 / stack(3:int32, -4:int32)", "stack(4:int32, -3:int32)");
  EXPECT_SIMPLIFIES("mulacc(2:int32, stack(3:int32, 4:int32), 1:int32)", "stack(7:int32, 9:int32)");
}

TEST(StackRules, FoldConditionals) {
  EXPECT_SIMPLIFIES("where(stack(true, false), stack(1:int32, 2:int32), stack(3:int32, 4:int32))",
                    "stack(1:int32, 4:int32)");
  EXPECT_SIMPLIFIES("where(stack(true, false), 1:int32, stack(3:int32, 4:int32))",
                    "stack(1:int32, 4:int32)");
  EXPECT_SIMPLIFIES("where(stack(true, false), 1:int32, 2:int32)", "stack(1:int32, 2:int32)");
  EXPECT_STAYS("where(stack(p[false,true]:bool, false), 1:int32, 2:int32)");
}

TEST(StackRules, TakeElementsOfOperationsWithScalars) {
  EXPECT_SIMPLIFIES("unstack{1}(stack(a[0,9], b[0,9]) * c[0,9])", "b * c");
  EXPECT_SIMPLIFIES("unstack{0}(where(p[false,true]:bool, stack(a[0,9], b[0,9]), 0))",
                    "where(p, a, 0)");
}

}  // namespace
}  // namespace kiln::symbolic
