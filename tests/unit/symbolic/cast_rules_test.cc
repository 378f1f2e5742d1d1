#include "gtest/gtest.h"

#include "tests/support/expect_simplifies.h"

namespace kiln::symbolic {
namespace {

TEST(CastRules, SkipCastsThatChangeNothing) {
  EXPECT_SIMPLIFIES("cast(cast(x[-9,9]:int8):float32):float64", "cast(x):float64");
  EXPECT_SIMPLIFIES("cast(cast(x[-9,9]:int32):float64):int8", "cast(x):int8");
}

TEST(CastRules, KeepTheFloatThatSaturates) {
  EXPECT_STAYS("cast(cast(x[-9,9]:int8):float32):uint8");
  EXPECT_STAYS("cast(cast(x[0,200]:uint8):float32):int8");
}

TEST(CastRules, NarrowOnlyWhatDoesNotWrap) {
  EXPECT_SIMPLIFIES("cast(x[0,9]:uint16):uint32 * cast(y[0,9]:uint16):uint32",
                    "cast(x * y):uint32");
  EXPECT_STAYS("cast(x[0,65535]:uint16):uint32 * cast(y[0,65535]:uint16):uint32");
}

}  // namespace
}  // namespace kiln::symbolic
