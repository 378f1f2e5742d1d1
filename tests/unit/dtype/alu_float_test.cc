#include <gtest/gtest.h>

#include <cmath>

#include "core/dtype/alu.h"
#include "tests/unit/dtype/edge_values.h"

namespace kiln::dtype {
namespace {

Scalar Eval(AluOp op, DType d, std::initializer_list<Scalar> operands) {
  return EvalAlu(op, d, absl::MakeConstSpan(operands.begin(), operands.size())).value();
}

// Rounds a long double to `d`. What is first computed in its 64 bits, and then rounded to at most
// 24, is as if rounded once; `sticky` undoes the double rounding on the way through double.
Scalar Narrow(long double v, DType d) {
  double near = static_cast<double>(v);
  if (d == DType::kFloat64 || std::isnan(v) || std::isinf(near) || v == near) {
    return Scalar::Float(RoundToFloat(near, d));
  }
  const bool sticky = RoundToFloat(near, d) != near;
  if (sticky) near = std::nextafter(near, v > near ? kInf : -kInf);
  return Scalar::Float(RoundToFloat(near, d));
}

long double Compute(AluOp op, long double a, long double b) {
  switch (op) {
    case AluOp::kAdd:
      return a + b;
    case AluOp::kSub:
      return a - b;
    case AluOp::kMul:
      return a * b;
    case AluOp::kFDiv:
      return a / b;
    case AluOp::kRecip:
      return 1 / a;
    default:
      return std::sqrt(a);
  }
}

double ComputeDouble(AluOp op, double a, double b) {
  switch (op) {
    case AluOp::kAdd:
      return a + b;
    case AluOp::kSub:
      return a - b;
    case AluOp::kMul:
      return a * b;
    case AluOp::kFDiv:
      return a / b;
    case AluOp::kRecip:
      return 1 / a;
    default:
      return std::sqrt(a);
  }
}

void ExpectCorrectlyRounded(AluOp op, DType d, Scalar a, Scalar b) {
  const Scalar got = NumOperands(op) == 1 ? Eval(op, d, {a}) : Eval(op, d, {a, b});
  const Scalar want = d == DType::kFloat64
                          ? Scalar::Float(ComputeDouble(op, a.AsFloat(), b.AsFloat()))
                          : Narrow(Compute(op, a.AsFloat(), b.AsFloat()), d);
  ASSERT_EQ(got, want) << Name(op) << " " << Show(a, d) << ", " << Show(b, d) << ": got "
                       << got.AsFloat() << ", want " << want.AsFloat();
}

constexpr AluOp kRounded[] = {AluOp::kAdd,  AluOp::kSub,   AluOp::kMul,
                              AluOp::kFDiv, AluOp::kRecip, AluOp::kSqrt};

TEST(EvalAluOnFloats, RoundsOnceAtEdgeValues) {
  for (DType d : FloatDTypes()) {
    for (AluOp op : kRounded) {
      for (Scalar a : EdgeValues(d)) {
        for (Scalar b : EdgeValues(d)) ExpectCorrectlyRounded(op, d, a, b);
      }
    }
  }
}

TEST(EvalAluOnFloats, RoundsOnceOnAllPairsOfFp8Values) {
  for (DType d : {DType::kFp8E4M3, DType::kFp8E5M2}) {
    for (AluOp op : kRounded) {
      for (uint64_t bits = 0; bits < 0x10000; ++bits) {
        ExpectCorrectlyRounded(op, d, FromBits(bits & 0xFF, d), FromBits(bits >> 8, d));
      }
    }
  }
}

TEST(EvalAluOnFloats, RoundsOnceOnRandomPatterns) {
  std::mt19937_64 random(5);
  for (DType d : FloatDTypes()) {
    for (AluOp op : kRounded) {
      for (int i = 0; i < 30000; ++i)
        ExpectCorrectlyRounded(op, d, FromBits(random(), d), FromBits(random(), d));
    }
  }
}

TEST(EvalAluOnFloats, Float32IsThatOfTheHost) {
  std::mt19937_64 random(6);
  const DType d = DType::kFloat32;
  for (int i = 0; i < 200000; ++i) {
    const Scalar x = FromBits(random(), d), y = FromBits(random(), d), z = FromBits(random(), d);
    const float a = static_cast<float>(x.AsFloat()), b = static_cast<float>(y.AsFloat());
    const float c = static_cast<float>(z.AsFloat());
    ASSERT_EQ(Eval(AluOp::kAdd, d, {x, y}), Scalar::Float(a + b));
    ASSERT_EQ(Eval(AluOp::kMul, d, {x, y}), Scalar::Float(a * b));
    ASSERT_EQ(Eval(AluOp::kFDiv, d, {x, y}), Scalar::Float(a / b));
    ASSERT_EQ(Eval(AluOp::kSqrt, d, {x}), Scalar::Float(std::sqrt(a)));
    ASSERT_EQ(Eval(AluOp::kMulAcc, d, {x, y, z}), Scalar::Float(std::fma(a, b, c)));
  }
}

TEST(EvalAluOnFloats, MulAccRoundsTheExactSumOnce) {
  // Products that lie half way between two values: the addend decides, however small.
  struct Case {
    DType d;
    double factor, other, below, above;
    bool even_is_below;
  };
  for (const Case& c :
       {Case{DType::kFp8E5M2, 1.5, 1.5, 2, 2.5, true}, Case{DType::kFp8E4M3, 3, 7, 20, 22, true},
        Case{DType::kFp8E4M3, 3, 9, 26, 28, false},
        Case{DType::kFloat16, 65, 63, 4094, 4096, false},
        Case{DType::kBFloat16, 17, 17, 288, 290, true},
        Case{DType::kBFloat16, 17, 19, 322, 324, false},
        Case{DType::kFloat32, 4097, 4097, 16785408, 16785410, true}}) {
    const double product = c.factor * c.other;
    if ((product - c.below) != (c.above - product)) continue;  // Not a tie in this type.
    const Scalar a = Scalar::Float(c.factor), b = Scalar::Float(c.other);
    const Scalar tiny = FromBits(1, c.d), minus_tiny = Scalar::Float(-tiny.AsFloat());
    EXPECT_EQ(Eval(AluOp::kMulAcc, c.d, {a, b, tiny}).AsFloat(), c.above) << Name(c.d) << product;
    EXPECT_EQ(Eval(AluOp::kMulAcc, c.d, {a, b, minus_tiny}).AsFloat(), c.below)
        << Name(c.d) << product;
    EXPECT_EQ(Eval(AluOp::kMulAcc, c.d, {a, b, Scalar::Float(0)}).AsFloat(),
              c.even_is_below ? c.below : c.above)
        << Name(c.d) << product;
  }
}

TEST(EvalAluOnFloats, MulAccOfTheSmallTypesIsExactThenRounded) {
  std::mt19937_64 random(7);
  // Sums of these types fit long double whole.
  for (DType d : {DType::kFp8E4M3, DType::kFp8E5M2}) {
    for (int i = 0; i < 200000; ++i) {
      const Scalar a = FromBits(random(), d), b = FromBits(random(), d), c = FromBits(random(), d);
      const long double exact = static_cast<long double>(a.AsFloat()) * b.AsFloat() + c.AsFloat();
      ASSERT_EQ(Eval(AluOp::kMulAcc, d, {a, b, c}), Narrow(exact, d));
    }
  }
  for (int i = 0; i < 200000; ++i) {
    const DType d = DType::kFloat64;
    const Scalar a = FromBits(random(), d), b = FromBits(random(), d), c = FromBits(random(), d);
    ASSERT_EQ(Eval(AluOp::kMulAcc, d, {a, b, c}),
              Scalar::Float(std::fma(a.AsFloat(), b.AsFloat(), c.AsFloat())));
  }
}

TEST(EvalAluOnFloats, Fp8SaturatesInArithmeticButKeepsInfinitiesThatItOnlyMoves) {
  const DType d = DType::kFp8E5M2;
  const Scalar inf = Scalar::Float(kInf), one = Scalar::Float(1);
  EXPECT_EQ(Eval(AluOp::kAdd, d, {inf, one}), Scalar::Float(57344));
  EXPECT_EQ(Eval(AluOp::kFDiv, DType::kFp8E4M3, {one, Scalar::Float(-0.0)}), Scalar::Float(-448));
  EXPECT_EQ(Eval(AluOp::kLog2, DType::kFp8E4M3, {Scalar::Float(0)}), Scalar::Float(-448));
  EXPECT_EQ(Eval(AluOp::kNeg, d, {inf}), Scalar::Float(-kInf));
  EXPECT_EQ(Eval(AluOp::kMax, d, {inf, one}), inf);
  EXPECT_EQ(Eval(AluOp::kTrunc, d, {inf}), inf);
}

TEST(EvalAluOnFloats, MaxGivesNaNIfEitherSideIs) {
  for (DType d : FloatDTypes()) {
    const Scalar nan = Scalar::Float(kNaN);
    for (Scalar a : EdgeValues(d)) {
      EXPECT_EQ(Eval(AluOp::kMax, d, {a, nan}), nan);
      EXPECT_EQ(Eval(AluOp::kMax, d, {nan, a}), nan);
      for (Scalar b : EdgeValues(d)) {
        if (a == nan || b == nan) continue;
        EXPECT_EQ(Eval(AluOp::kMax, d, {a, b}).AsFloat(), std::max(a.AsFloat(), b.AsFloat()));
      }
    }
  }
}

TEST(EvalAluOnFloats, NaNComparesFalseExceptNotEqual) {
  for (DType d : FloatDTypes()) {
    for (Scalar a : EdgeValues(d)) {
      for (Scalar b : EdgeValues(d)) {
        const double x = a.AsFloat(), y = b.AsFloat();
        const bool unordered = std::isnan(x) || std::isnan(y);
        EXPECT_EQ(Eval(AluOp::kCmpLt, d, {a, b}), Scalar::Bool(!unordered && x < y));
        EXPECT_EQ(Eval(AluOp::kCmpEq, d, {a, b}), Scalar::Bool(!unordered && x == y));
        EXPECT_EQ(Eval(AluOp::kCmpNe, d, {a, b}), Scalar::Bool(unordered || x != y));
      }
    }
  }
}

TEST(EvalAluOnFloats, TruncKeepsInfinitiesNaNAndTheSignOfZero) {
  for (DType d : FloatDTypes()) {
    for (Scalar a : EdgeValues(d)) {
      const double x = a.AsFloat();
      const double whole = std::isfinite(x) ? std::copysign(std::floor(std::fabs(x)), x) : x;
      EXPECT_EQ(Eval(AluOp::kTrunc, d, {a}), Scalar::Float(whole)) << Show(a, d);
    }
  }
}

TEST(EvalAluOnFloats, NegFlipsTheSignOfAllButNaN) {
  for (DType d : FloatDTypes()) {
    for (Scalar a : EdgeValues(d)) {
      const Scalar negated = Eval(AluOp::kNeg, d, {a});
      EXPECT_EQ(Eval(AluOp::kNeg, d, {negated}), a);
      if (std::isnan(a.AsFloat())) continue;
      EXPECT_NE(std::signbit(negated.AsFloat()), std::signbit(a.AsFloat()));
    }
  }
}

TEST(EvalAluOnFloats, TranscendentalsAreTheRoundedLongDouble) {
  for (DType d : FloatDTypes()) {
    for (Scalar a : EdgeValues(d)) {
      const long double x = a.AsFloat();
      EXPECT_EQ(Eval(AluOp::kExp2, d, {a}), Narrow(std::exp2(x), d)) << Show(a, d);
      EXPECT_EQ(Eval(AluOp::kLog2, d, {a}), Narrow(std::log2(x), d)) << Show(a, d);
      EXPECT_EQ(Eval(AluOp::kSin, d, {a}), Narrow(std::sin(x), d)) << Show(a, d);
    }
  }
}

TEST(EvalAluOnFloats, PowOfTwoAndMinusOneIsRoundedOnce) {
  for (int i = 1; i < 100'000; ++i) {
    const double a = std::sqrt(i);  // All 53 bits matter.
    const Scalar x = Scalar::Float(a), two = Scalar::Float(2), minus_one = Scalar::Float(-1);
    ASSERT_EQ(Eval(AluOp::kPow, DType::kFloat64, {x, two}), Scalar::Float(a * a)) << a;
    ASSERT_EQ(Eval(AluOp::kPow, DType::kFloat64, {x, minus_one}), Scalar::Float(1 / a)) << a;
  }
}

TEST(EvalAluOnFloats, PowHasTheSpecialValuesOfC) {
  const auto pow = [](double a, double b) {
    return Eval(AluOp::kPow, DType::kFloat32, {Scalar::Float(a), Scalar::Float(b)});
  };
  EXPECT_EQ(pow(-0.0, -1), Scalar::Float(-kInf));
  EXPECT_EQ(pow(kNaN, 0), Scalar::Float(1));
  EXPECT_EQ(pow(1, kNaN), Scalar::Float(1));
  EXPECT_EQ(pow(-8, 1.0 / 3), Scalar::Float(kNaN));
  EXPECT_EQ(pow(2, -149), Scalar::Float(0x1p-149));
  EXPECT_EQ(pow(2, -150), Scalar::Float(0));
  EXPECT_EQ(pow(2, 128), Scalar::Float(kInf));
}

}  // namespace
}  // namespace kiln::dtype
