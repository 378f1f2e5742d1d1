#include "core/dtype/magic.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace kiln::dtype {
namespace {

bool Divides(Int128 m, int s, Int128 vmax, Int128 d) {
  for (Int128 x = 0; x <= vmax; ++x) {
    if ((x * m) >> s != x / d) return false;
  }
  return true;
}

TEST(FindMagic, IsTheSmallestShiftThatDividesEverySmallNumber) {
  for (int vmax = 0; vmax <= 130; ++vmax) {
    for (int d = 1; d <= 140; ++d) {
      int s = 0;
      const auto multiplier = [&] { return ((Int128{1} << s) + d - 1) / d; };
      while (!Divides(multiplier(), s, vmax, d)) ++s;
      const std::optional<Magic> got = FindMagic(vmax, d);
      ASSERT_TRUE(got.has_value());
      ASSERT_EQ(got->s, s) << vmax << " / " << d;
      ASSERT_TRUE(got->m == multiplier()) << vmax << " / " << d;
    }
  }
}

TEST(FindMagic, DividesLargeNumbersAroundMultiples) {
  for (Int128 vmax : {Int128{65535}, Int128{1} << 31, (Int128{1} << 32) - 1, Int128{INT64_MAX}}) {
    for (Int128 d : {Int128{3}, Int128{7}, Int128{10}, Int128{641}, Int128{1000003},
                     Int128{1} << 20, vmax / 2, vmax - 1, vmax, vmax + 1, vmax + 2, vmax * 3}) {
      const std::optional<Magic> got = FindMagic(vmax, d);
      ASSERT_TRUE(got.has_value());
      for (Int128 near : {Int128{0}, d, 5 * d, vmax / 2 / d * d, vmax / d * d, vmax}) {
        for (int offset = -2; offset <= 2; ++offset) {
          const Int128 x = near + offset;
          if (x < 0 || x > vmax) continue;
          ASSERT_TRUE((x * got->m) >> got->s == x / d) << ToString(x) << " / " << ToString(d);
        }
      }
    }
  }
}

TEST(FindMagic, RefusesWhatHasNoAnswer) {
  EXPECT_FALSE(FindMagic(-1, 3).has_value());
  EXPECT_FALSE(FindMagic(10, 0).has_value());
  EXPECT_FALSE(FindMagic(10, -3).has_value());
  EXPECT_FALSE(FindMagic(kInt128Max, (Int128{1} << 90) + 1).has_value());
}

}  // namespace
}  // namespace kiln::dtype
