#include "core/dtype/dtype.h"

#include <gtest/gtest.h>

#include "core/dtype/alu_op.h"

namespace kiln::dtype {
namespace {

TEST(DType, NamesParseBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    EXPECT_EQ(ParseDType(Name(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_EQ(ParseDType("float31"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
}

TEST(DType, EveryTypeHasOneKind) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType d = static_cast<DType>(i);
    const bool other = d == DType::kVoid || d == DType::kBool;
    EXPECT_EQ(IsFloat(d) + IsInteger(d) + other, 1) << Name(d);
    EXPECT_EQ(SizeBytes(d) * 8, SizeBits(d));
  }
}

TEST(DType, RangesOfIntegers) {
  EXPECT_TRUE(MinValue(DType::kInt8) == -128 && MaxValue(DType::kInt8) == 127);
  EXPECT_TRUE(MinValue(DType::kUInt8) == 0 && MaxValue(DType::kUInt8) == 255);
  EXPECT_TRUE(MinValue(DType::kBool) == 0 && MaxValue(DType::kBool) == 1);
  EXPECT_TRUE(MinValue(DType::kInt64) == INT64_MIN && MaxValue(DType::kInt64) == INT64_MAX);
  EXPECT_TRUE(MinValue(DType::kUInt64) == 0 && MaxValue(DType::kUInt64) == UINT64_MAX);
}

TEST(AluOp, NamesParseBack) {
  for (int i = 0; i < kNumAluOps; ++i) {
    EXPECT_EQ(ParseAluOp(Name(static_cast<AluOp>(i))), static_cast<AluOp>(i));
  }
  EXPECT_EQ(Name(AluOp::kMulAcc), "MULACC");
  EXPECT_EQ(Name(AluOp::kAdd), "ADD");
  EXPECT_EQ(Name(AluOp::kThreefry), "THREEFRY");
  EXPECT_EQ(ParseAluOp("NOP"), std::nullopt);
}

TEST(Int128, PrintsAllDigits) {
  EXPECT_EQ(ToString(Int128{0}), "0");
  EXPECT_EQ(ToString(Int128{-15}), "-15");
  EXPECT_EQ(ToString(Int128{INT64_MAX} * 2 + 1), "18446744073709551615");
  EXPECT_EQ(ToString(kInt128Max), "170141183460469231731687303715884105727");
  EXPECT_EQ(ToString(kInt128Min), "-170141183460469231731687303715884105728");
}

}  // namespace
}  // namespace kiln::dtype
