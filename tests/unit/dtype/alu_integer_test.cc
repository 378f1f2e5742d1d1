#include <gtest/gtest.h>

#include <array>

#include "core/dtype/alu.h"
#include "tests/unit/dtype/edge_values.h"

namespace kiln::dtype {
namespace {

std::optional<Scalar> Eval(AluOp op, DType d, std::initializer_list<Scalar> operands) {
  return EvalAlu(op, d, absl::MakeConstSpan(operands.begin(), operands.size()));
}
std::optional<Int128> Wide(AluOp op, std::initializer_list<Int128> operands) {
  return EvalWide(op, absl::MakeConstSpan(operands.begin(), operands.size()));
}

// 256-bit product modulo 2^128: enough for the low bits, which are all that wrapping keeps.
Int128 LowProduct(Int128 a, Int128 b) {
  return static_cast<Int128>(static_cast<UInt128>(a) * static_cast<UInt128>(b));
}

// The value before wrapping, by the definitions in the proto. Null where a type does not have the
// op.
std::optional<Int128> Define(AluOp op, DType d, Int128 a, Int128 b) {
  const int width = SizeBits(d);
  switch (op) {
    case AluOp::kAdd:
      return a + b;
    case AluOp::kMul:
      return LowProduct(a, b);
    case AluOp::kMax:
      return std::max(a, b);
    case AluOp::kCmpLt:
      return a < b;
    case AluOp::kCmpNe:
      return a != b;
    case AluOp::kCmpEq:
      return a == b;
    case AluOp::kAnd:
      return a & b;
    case AluOp::kOr:
      return a | b;
    case AluOp::kXor:
      return a ^ b;
    default:
      break;
  }
  if (d == DType::kBool) return std::nullopt;
  switch (op) {
    case AluOp::kSub:
      return a - b;
    case AluOp::kIDiv:
      return b == 0 ? 0 : a / b;
    case AluOp::kMod:
      return b == 0 ? a : a % b;
    case AluOp::kShl:
      return b < 0 || b >= width ? 0 : LowProduct(a, Int128{1} << static_cast<int>(b));
    case AluOp::kShr: {
      if (b < 0 || b >= width) return a < 0 ? -1 : 0;
      const Int128 divisor = Int128{1} << static_cast<int>(b);
      return a >= 0 ? a / divisor : -((-a + divisor - 1) / divisor);  // Rounds down.
    }
    default:
      return std::nullopt;
  }
}

constexpr AluOp kBinary[] = {AluOp::kAdd, AluOp::kSub,   AluOp::kMul,   AluOp::kIDiv,  AluOp::kMod,
                             AluOp::kMax, AluOp::kCmpLt, AluOp::kCmpNe, AluOp::kCmpEq, AluOp::kAnd,
                             AluOp::kOr,  AluOp::kXor,   AluOp::kShl,   AluOp::kShr};

TEST(EvalAluOnIntegers, AgreesWithTheDefinitionAtEdgeValues) {
  for (DType d : FixedWidthDTypes()) {
    for (AluOp op : kBinary) {
      const DType out = IsComparison(op) ? DType::kBool : d;
      for (Scalar a : EdgeValues(d)) {
        for (Scalar b : EdgeValues(d)) {
          const std::optional<Int128> want = Define(op, d, a.AsWide(d), b.AsWide(d));
          const std::optional<Scalar> got = Eval(op, d, {a, b});
          ASSERT_EQ(got.has_value(), want.has_value()) << Name(op) << " on " << Name(d);
          if (want.has_value()) {
            ASSERT_EQ(*got, *WrapInteger(*want, out))
                << Name(op) << " " << Show(a, d) << ", " << Show(b, d);
          }
        }
      }
    }
  }
}

TEST(EvalAluOnIntegers, AgreesWithTheDefinitionOnAllPairsOf8BitValues) {
  for (DType d : {DType::kInt8, DType::kUInt8}) {
    for (AluOp op : kBinary) {
      const DType out = IsComparison(op) ? DType::kBool : d;
      for (uint64_t bits = 0; bits < 0x10000; ++bits) {
        const Scalar a = FromBits(bits & 0xFF, d), b = FromBits(bits >> 8, d);
        ASSERT_EQ(Eval(op, d, {a, b}), WrapInteger(*Define(op, d, a.AsWide(d), b.AsWide(d)), out))
            << Name(op) << " " << Show(a, d) << ", " << Show(b, d);
      }
    }
  }
}

TEST(EvalAluOnIntegers, SmallestByMinusOneWrapsAndItsRemainderIsZero) {
  for (DType d : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    const Scalar smallest = *WrapInteger(MinValue(d), d);
    EXPECT_EQ(Eval(AluOp::kIDiv, d, {smallest, Scalar::Int(-1)}), smallest);
    EXPECT_EQ(Eval(AluOp::kMod, d, {smallest, Scalar::Int(-1)}), Scalar::Int(0));
    EXPECT_EQ(Eval(AluOp::kNeg, d, {smallest}), smallest);
  }
}

TEST(EvalAluOnIntegers, NegTruncMulAccAndWhereAgreeWithTheDefinition) {
  for (DType d : FixedWidthDTypes()) {
    const std::vector<Scalar> values = EdgeValues(d);
    for (Scalar a : values) {
      if (d != DType::kBool) {
        EXPECT_EQ(Eval(AluOp::kNeg, d, {a}), WrapInteger(-a.AsWide(d), d));
        EXPECT_EQ(Eval(AluOp::kTrunc, d, {a}), a);
      }
      for (Scalar b : values) {
        EXPECT_EQ(Eval(AluOp::kWhere, d, {Scalar::Bool(true), a, b}), a);
        EXPECT_EQ(Eval(AluOp::kWhere, d, {Scalar::Bool(false), a, b}), b);
        const Scalar c = values[values.size() / 2];
        // Wrapping addition in UInt128: the signed sum of a large product may not fit.
        const UInt128 sum = static_cast<UInt128>(LowProduct(a.AsWide(d), b.AsWide(d))) +
                            static_cast<UInt128>(c.AsWide(d));
        ASSERT_EQ(Eval(AluOp::kMulAcc, d, {a, b, c}), WrapInteger(static_cast<Int128>(sum), d));
      }
    }
  }
}

TEST(EvalAluOnIntegers, PowWrapsAndTruncatesNegativePowers) {
  for (DType d : FixedWidthDTypes()) {
    if (d == DType::kBool) continue;
    for (Scalar base : EdgeValues(d)) {
      UInt128 product = 1;
      for (int n = 0; n <= 70; ++n) {
        ASSERT_EQ(Eval(AluOp::kPow, d, {base, Scalar::Int(n)}),
                  WrapInteger(static_cast<Int128>(product), d))
            << Show(base, d) << " ** " << n;
        product *= static_cast<UInt128>(base.AsWide(d));
      }
    }
    if (!IsSigned(d)) continue;
    const auto pow = [&](int a, int b) {
      return Eval(AluOp::kPow, d, {Scalar::Int(a), Scalar::Int(b)});
    };
    EXPECT_EQ(pow(1, -5), Scalar::Int(1));
    EXPECT_EQ(pow(-1, -5), Scalar::Int(-1));
    EXPECT_EQ(pow(-1, -4), Scalar::Int(1));
    EXPECT_EQ(pow(2, -1), Scalar::Int(0));
    EXPECT_EQ(pow(0, -1), Scalar::Int(0));
  }
}

TEST(EvalAluOnIntegers, ThreefryGivesThePublishedAnswers) {
  // Source: kat_vectors of the Random123 library, threefry2x32 20; words are {low, high}.
  const auto threefry = [](uint64_t c0, uint64_t c1, uint64_t k0, uint64_t k1) {
    return Eval(AluOp::kThreefry, DType::kUInt64,
                {Scalar::FromBits(c1 << 32 | c0), Scalar::FromBits(k1 << 32 | k0)})
        ->bits();
  };
  EXPECT_EQ(threefry(0, 0, 0, 0), 0x99ba4efe6b200159u);
  EXPECT_EQ(threefry(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff), 0xbb002be71cb996fcu);
  EXPECT_EQ(threefry(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0x483df7a0c4923a9cu);
}

TEST(EvalAluOnIndex, IsExactOrRefuses) {
  const DType d = DType::kIndex;
  for (AluOp op : kBinary) {
    for (Scalar a : EdgeValues(d)) {
      for (Scalar b : EdgeValues(d)) {
        const Int128 x = a.AsInt(), y = b.AsInt();
        std::optional<Int128> want;
        if (op == AluOp::kShl) {
          if (y < 0 || x == 0) want = 0;
          if (y >= 0 && y < 64 && x != 0) want = x * (Int128{1} << static_cast<int>(y));
        } else if (op == AluOp::kShr) {
          want = y < 0 || y > 126 ? (x < 0 ? -1 : 0) : x >> static_cast<int>(y);
        } else if (y != 0 || (op != AluOp::kIDiv && op != AluOp::kMod)) {
          want = Define(op, d, x, y);
        }
        if (want.has_value() && !FitsInt64(*want)) want.reset();
        const std::optional<Scalar> got = Eval(op, d, {a, b});
        ASSERT_EQ(got.has_value(), want.has_value())
            << Name(op) << " " << Show(a, d) << ", " << Show(b, d);
        if (want.has_value()) {
          ASSERT_TRUE(got->AsInt() == *want) << Name(op) << " " << Show(a, d) << ", " << Show(b, d);
        }
      }
    }
  }
}

TEST(EvalAluOnIndex, PowIsExactOrRefuses) {
  const auto pow = [](int64_t a, int64_t b) {
    return Eval(AluOp::kPow, DType::kIndex, {Scalar::Int(a), Scalar::Int(b)});
  };
  EXPECT_EQ(pow(2, 62), Scalar::Int(int64_t{1} << 62));
  EXPECT_EQ(pow(2, 63), std::nullopt);
  EXPECT_EQ(pow(-2, 63), Scalar::Int(INT64_MIN));
  EXPECT_EQ(pow(-1, INT64_MAX), Scalar::Int(-1));
  EXPECT_EQ(pow(0, INT64_MAX), Scalar::Int(0));
  EXPECT_EQ(pow(0, 0), Scalar::Int(1));
  EXPECT_EQ(pow(3, INT64_MAX), std::nullopt);
  EXPECT_EQ(pow(3, -1), Scalar::Int(0));
}

TEST(EvalWide, GoesBeyondInt64) {
  EXPECT_TRUE(Wide(AluOp::kMulAcc, {2147483648, 8589934593, -5}) ==
              (Int128{1} << 64) + (Int128{1} << 31) - 5);
  EXPECT_TRUE(Wide(AluOp::kSub, {INT64_MIN, INT64_MAX}) == Int128{INT64_MIN} - INT64_MAX);
  EXPECT_TRUE(Wide(AluOp::kShl, {1, 126}) == Int128{1} << 126);
  EXPECT_TRUE(Wide(AluOp::kWhere, {0, 1, 2}) == 2);
  EXPECT_TRUE(Wide(AluOp::kCmpLt, {kInt128Min, kInt128Max}) == 1);
}

TEST(EvalWide, RefusesWhatInt128CannotHoldAndZeroDivisors) {
  EXPECT_FALSE(Wide(AluOp::kAdd, {kInt128Max, 1}).has_value());
  EXPECT_FALSE(Wide(AluOp::kSub, {kInt128Min, 1}).has_value());
  EXPECT_FALSE(Wide(AluOp::kMul, {kInt128Max, 2}).has_value());
  EXPECT_FALSE(Wide(AluOp::kNeg, {kInt128Min}).has_value());
  EXPECT_FALSE(Wide(AluOp::kIDiv, {kInt128Min, -1}).has_value());
  EXPECT_TRUE(Wide(AluOp::kMod, {kInt128Min, -1}) == 0);
  EXPECT_FALSE(Wide(AluOp::kIDiv, {1, 0}).has_value());
  EXPECT_FALSE(Wide(AluOp::kMod, {1, 0}).has_value());
  EXPECT_FALSE(Wide(AluOp::kShl, {1, 127}).has_value());
  EXPECT_FALSE(Wide(AluOp::kSqrt, {4}).has_value());
  EXPECT_FALSE(Wide(AluOp::kAdd, {4}).has_value());
}

TEST(EvalAlu, RefusesOpsThatATypeDoesNotHaveAndWrongNumbersOfOperands) {
  EXPECT_EQ(Eval(AluOp::kSqrt, DType::kInt32, {Scalar::Int(4)}), std::nullopt);
  EXPECT_EQ(Eval(AluOp::kAnd, DType::kFloat32, {Scalar::Float(1), Scalar::Float(1)}), std::nullopt);
  EXPECT_EQ(Eval(AluOp::kIDiv, DType::kFloat32, {Scalar::Float(1), Scalar::Float(1)}),
            std::nullopt);
  EXPECT_EQ(Eval(AluOp::kSub, DType::kBool, {Scalar::Bool(true), Scalar::Bool(true)}),
            std::nullopt);
  EXPECT_EQ(Eval(AluOp::kThreefry, DType::kUInt32, {Scalar::Int(1), Scalar::Int(1)}), std::nullopt);
  EXPECT_EQ(Eval(AluOp::kAdd, DType::kVoid, {Scalar(), Scalar()}), std::nullopt);
  EXPECT_EQ(Eval(AluOp::kCast, DType::kInt32, {Scalar()}), std::nullopt);
  EXPECT_EQ(Eval(AluOp::kAdd, DType::kInt32, {Scalar()}), std::nullopt);
  EXPECT_EQ(Eval(AluOp::kNeg, DType::kInt32, {}), std::nullopt);
}

}  // namespace
}  // namespace kiln::dtype
