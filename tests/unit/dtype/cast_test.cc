#include "core/dtype/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/unit/dtype/edge_values.h"

namespace kiln::dtype {
namespace {

// The definition of the formats, by another road than the implementation.
double Decode(uint64_t bits, int exponent_bits, int fraction_bits, bool has_infinity) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int64_t exponent = static_cast<int64_t>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int64_t fraction = static_cast<int64_t>(bits & ((uint64_t{1} << fraction_bits) - 1));
  const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
  const bool top = exponent == (1 << exponent_bits) - 1;
  if (top && has_infinity) return fraction == 0 ? sign * kInf : kNaN;
  if (top && fraction == (1 << fraction_bits) - 1) return kNaN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (int64_t{1} << fraction_bits),
                           static_cast<int>(exponent) - bias - fraction_bits);
}

double DecodeAs(DType d, uint64_t bits) {
  switch (d) {
    case DType::kFp8E4M3:
      return Decode(bits, 4, 3, false);
    case DType::kFp8E5M2:
      return Decode(bits, 5, 2, true);
    case DType::kFloat16:
      return Decode(bits, 5, 10, true);
    default:
      return Decode(bits, 8, 7, true);
  }
}

TEST(FloatBits, EveryPatternOfTheSmallTypesMeansWhatTheFormatSays) {
  for (DType d : SmallFloatDTypes()) {
    for (uint64_t bits = 0; bits < uint64_t{1} << SizeBits(d); ++bits) {
      ASSERT_EQ(FromBits(bits, d), Scalar::Float(DecodeAs(d, bits))) << Name(d) << " " << bits;
    }
  }
}

TEST(FloatBits, EveryPatternOfTheSmallTypesRoundTrips) {
  for (DType d : SmallFloatDTypes()) {
    for (uint64_t bits = 0; bits < uint64_t{1} << SizeBits(d); ++bits) {
      const Scalar v = FromBits(bits, d);
      ASSERT_TRUE(Represents(d, v.AsFloat()));
      const uint64_t back = ToBits(v, d);
      if (std::isnan(v.AsFloat())) {
        ASSERT_EQ(FromBits(back, d), v);
      } else {
        ASSERT_EQ(back, bits) << Name(d);
      }
    }
  }
}

TEST(FloatBits, Float32AndFloat64AreThoseOfTheHost) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    const float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
    EXPECT_EQ(FromBits(bits, DType::kFloat32), Scalar::Float(f));
    if (f == f) {
      EXPECT_EQ(ToBits(Scalar::Float(f), DType::kFloat32), static_cast<uint32_t>(bits));
    }
    const double g = std::bit_cast<double>(bits);
    EXPECT_EQ(FromBits(bits, DType::kFloat64), Scalar::Float(g));
    if (g == g) {
      EXPECT_EQ(ToBits(Scalar::Float(g), DType::kFloat64), bits);
    }
  }
}

// Rounding by search: the nearer neighbour, of two equally near ones that with the even pattern.
double NearestOf(const std::vector<double>& values, DType d, double v) {
  const auto above = std::lower_bound(values.begin(), values.end(), v);
  const double beyond = d == DType::kFloat16 || d == DType::kBFloat16 ? kInf : values.back();
  if (above == values.end()) {
    // As if the next value of the format existed and was the overflow.
    const double step = values.back() - values[values.size() - 2];
    return v < values.back() + step / 2 ? values.back() : beyond;
  }
  if (*above == v || above == values.begin()) return *above;
  const double hi = *above, lo = *(above - 1);
  if (v - lo != hi - v) return v - lo < hi - v ? lo : hi;
  return ToBits(Scalar::Float(lo), d) % 2 == 0 ? lo : hi;
}

TEST(RoundToFloat, IsNearestEvenBetweenAllNeighboursOfTheSmallTypes) {
  for (DType d : SmallFloatDTypes()) {
    const std::vector<double> values = FiniteValues(d);
    // From zero up: the negative half is the mirror image, checked below.
    const auto zero = std::lower_bound(values.begin(), values.end(), 0.0);
    for (auto lo = zero; lo != values.end(); ++lo) {
      const bool last = lo + 1 == values.end();
      const double hi = last ? *lo + (*lo - *(lo - 1)) : *(lo + 1);
      const double middle = *lo + (hi - *lo) / 2;
      for (double v : {*lo, std::nextafter(*lo, kInf), std::nextafter(middle, -kInf), middle,
                       std::nextafter(middle, kInf), std::nextafter(hi, -kInf)}) {
        ASSERT_EQ(RoundToFloat(v, d), NearestOf(values, d, v)) << Name(d) << " " << v;
        ASSERT_EQ(Scalar::Float(RoundToFloat(-v, d)), Scalar::Float(-RoundToFloat(v, d)));
      }
    }
  }
}

TEST(RoundToFloat, OverflowsAsTheFormatSays) {
  for (double v : {1e300, kInf}) {
    EXPECT_EQ(RoundToFloat(v, DType::kFp8E4M3), 448);
    EXPECT_EQ(RoundToFloat(-v, DType::kFp8E5M2), -57344);
    EXPECT_EQ(RoundToFloat(v, DType::kFloat16), kInf);
    EXPECT_EQ(RoundToFloat(-v, DType::kBFloat16), -kInf);
    EXPECT_EQ(RoundToFloat(v, DType::kFloat32), kInf);
    EXPECT_EQ(RoundToFloat(v, DType::kFloat64), v);
  }
  EXPECT_EQ(RoundToFloat(65519.99, DType::kFloat16), 65504);
  EXPECT_EQ(RoundToFloat(65520, DType::kFloat16), kInf);
}

TEST(RoundToFloat, KeepsNaNAndTheSignOfZero) {
  for (DType d : FloatDTypes()) {
    EXPECT_TRUE(std::isnan(RoundToFloat(kNaN, d)));
    EXPECT_TRUE(std::signbit(RoundToFloat(-0.0, d)));
    EXPECT_FALSE(std::signbit(RoundToFloat(0.0, d)));
    const double denormal = 5e-324;
    EXPECT_TRUE(std::signbit(RoundToFloat(-denormal, d)));
  }
}

TEST(RoundToFloat, Float32IsTheConversionOfTheHost) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300000; ++i) {
    // Random exponents near the range of float32, and fractions that are often near ties.
    const uint64_t exponent = 1023 - 155 + random() % 290;
    const uint64_t fraction = random() & (i % 2 ? 0xFFFFFE0000000 : 0xFFFFFFFFFFFFF);
    const uint64_t bits = (random() & 1) << 63 | exponent << 52 | (fraction + (i % 3 == 0 ? 1 : 0));
    const double v = std::bit_cast<double>(bits);
    ASSERT_EQ(RoundToFloat(v, DType::kFloat32), static_cast<double>(static_cast<float>(v))) << v;
  }
}

TEST(RoundToFloat, RoundsFloat64OnceNotByWayOfFloat32) {
  EXPECT_EQ(RoundToFloat(1.0039062500000002, DType::kBFloat16), 1.0078125);
  EXPECT_EQ(RoundToFloat(1.0117187499999998, DType::kBFloat16), 1.0078125);
  EXPECT_EQ(RoundToFloat(std::nextafter(1 + 0x1p-11, 2), DType::kFloat16), 1 + 0x1p-10);
  EXPECT_EQ(RoundToFloat(std::nextafter(0x1p-25, 1), DType::kFloat16), 0x1p-24);
}

TEST(WrapInteger, IsTheResidueInTheRangeOfTheType) {
  for (DType d : FixedWidthDTypes()) {
    if (d == DType::kBool) continue;
    const Int128 modulus = Int128{1} << SizeBits(d);
    for (Int128 near : {Int128{0}, modulus, -modulus, modulus / 2, -modulus / 2, Int128{1} << 70,
                        kInt128Min + 9, kInt128Max - 9}) {
      for (int offset = -5; offset <= 5; ++offset) {
        const Int128 v = near + offset;
        const Int128 wrapped = WrapInteger(v, d)->AsWide(d);
        EXPECT_TRUE(wrapped >= MinValue(d) && wrapped <= MaxValue(d)) << ToString(v);
        EXPECT_TRUE((wrapped % modulus - v % modulus) % modulus == 0) << ToString(v);
      }
    }
  }
}

TEST(WrapInteger, ToBoolAsksForNonZeroAndToIndexRefusesOverflow) {
  EXPECT_EQ(WrapInteger(256, DType::kBool), Scalar::Bool(true));
  EXPECT_EQ(WrapInteger(0, DType::kBool), Scalar::Bool(false));
  EXPECT_EQ(WrapInteger(INT64_MIN, DType::kIndex), Scalar::Int(INT64_MIN));
  EXPECT_EQ(WrapInteger(Int128{INT64_MAX} + 1, DType::kIndex), std::nullopt);
}

TEST(Cast, OfFloatToIntegerTruncatesAndSaturates) {
  for (DType from : FloatDTypes()) {
    for (DType to : FixedWidthDTypes()) {
      if (to == DType::kBool) continue;
      std::vector<Scalar> values = EdgeValues(from);
      for (Int128 limit : {MinValue(to), MaxValue(to)}) {
        for (double offset : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5}) {
          values.push_back(Scalar::Float(RoundToFloat(static_cast<double>(limit) + offset, from)));
        }
      }
      for (Scalar v : values) {
        const long double x = v.AsFloat();
        const long double lo = static_cast<long double>(MinValue(to));
        const long double hi = static_cast<long double>(MaxValue(to));
        const Int128 want = x != x ? 0 : static_cast<Int128>(std::trunc(std::clamp(x, lo, hi)));
        EXPECT_TRUE(Cast(v, from, to)->AsWide(to) == want) << Show(v, from) << " to " << Name(to);
      }
    }
  }
}

TEST(Cast, OfFloatToIndexRefusesWhatDoesNotFit) {
  for (DType from : {DType::kFloat32, DType::kFloat64}) {
    EXPECT_EQ(Cast(Scalar::Float(-2.9), from, DType::kIndex), Scalar::Int(-2));
    EXPECT_EQ(Cast(Scalar::Float(-0x1p63), from, DType::kIndex), Scalar::Int(INT64_MIN));
    for (double v : {0x1p63, -0x1p64, kInf, -kInf, kNaN}) {
      EXPECT_EQ(Cast(Scalar::Float(v), from, DType::kIndex), std::nullopt) << v;
    }
  }
  EXPECT_EQ(Cast(Scalar::FromBits(UINT64_MAX), DType::kUInt64, DType::kIndex), std::nullopt);
}

TEST(Cast, ToBoolAsksForNonZero) {
  for (DType from : AllDTypes()) {
    for (Scalar v : EdgeValues(from)) {
      const bool want = IsFloat(from) ? !(v.AsFloat() == 0) : v.AsWide(from) != 0;
      EXPECT_EQ(Cast(v, from, DType::kBool), Scalar::Bool(want)) << Show(v, from);
    }
  }
}

TEST(Cast, OfIntegerToFloatRoundsOnce) {
  std::mt19937_64 random(3);
  for (DType to : SmallFloatDTypes()) {
    const std::vector<double> values = FiniteValues(to);
    for (DType from : {DType::kInt64, DType::kUInt64, DType::kIndex, DType::kInt32}) {
      std::vector<Scalar> inputs = EdgeValues(from);
      // One off a tie by too little for a double to see.
      for (int i = 0; i < 2000; ++i) {
        const double lo = std::fabs(values[random() % values.size()]);
        const double tie = RoundToFloat(lo * (1 + 0x1p-30), DType::kFloat64) + lo * 0x1p-9;
        if (tie < 0x1p62 && tie > 0x1p54) {
          const Int128 v = static_cast<Int128>(tie) + static_cast<Int128>(random() % 3) - 1;
          if (SizeBits(from) != 32) inputs.push_back(*WrapInteger(v, from));
        }
      }
      for (Scalar v : inputs) {
        const Int128 wide = v.AsWide(from);
        // long double holds 64 bits; the neighbours differ from it by amounts it holds, too.
        const long double x = static_cast<long double>(wide);
        const double got = Cast(v, from, to)->AsFloat();
        ASSERT_TRUE(Represents(to, got));
        if (std::fabs(x) >= MaxFinite(to)) continue;
        const long double error = std::fabs(x - got);
        const auto at = std::lower_bound(values.begin(), values.end(), got);
        for (auto other :
             {at - (at == values.begin() ? 0 : 1), at + (at + 1 == values.end() ? 0 : 1)}) {
          const long double other_error = std::fabs(x - *other);
          ASSERT_LE(error, other_error) << Show(v, from) << " to " << Name(to);
          if (error == other_error && *other != got) {
            ASSERT_EQ(ToBits(Scalar::Float(got), to) % 2, 0);
          }
        }
      }
    }
  }
}

TEST(Cast, Of64BitIntegersToFloat32AndFloat64IsThatOfTheHost) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t ones = random();
    // Half of them near ties: few bits set far apart.
    const uint64_t bits =
        i % 2 ? ones >> random() % 64
              : (uint64_t{1} << 63 | uint64_t{1} << (38 + random() % 3) | random() % 3) >>
                    random() % 30;
    const int64_t s = static_cast<int64_t>(bits);
    ASSERT_EQ(Cast(Scalar::Int(s), DType::kInt64, DType::kFloat32),
              Scalar::Float(static_cast<float>(s)));
    ASSERT_EQ(Cast(Scalar::Int(s), DType::kInt64, DType::kFloat64),
              Scalar::Float(static_cast<double>(s)));
    ASSERT_EQ(Cast(Scalar::FromBits(bits), DType::kUInt64, DType::kFloat32),
              Scalar::Float(static_cast<float>(bits)));
    ASSERT_EQ(Cast(Scalar::FromBits(bits), DType::kUInt64, DType::kFloat64),
              Scalar::Float(static_cast<double>(bits)));
  }
}

TEST(Bitcast, KeepsTheBitsBetweenTypesOfOneSize) {
  EXPECT_EQ(Bitcast(Scalar::Int(-1), DType::kInt8, DType::kUInt8), Scalar::Int(255));
  EXPECT_EQ(Bitcast(Scalar::Int(0x3C00), DType::kInt16, DType::kFloat16), Scalar::Float(1));
  EXPECT_EQ(Bitcast(Scalar::Float(kInf), DType::kFp8E5M2, DType::kUInt8), Scalar::Int(0x7C));
  EXPECT_EQ(Bitcast(Scalar::Int(2), DType::kUInt8, DType::kBool), Scalar::Bool(true));
  EXPECT_EQ(Bitcast(Scalar::Float(-0.0), DType::kFloat64, DType::kInt64), Scalar::Int(INT64_MIN));
  for (DType from : AllDTypes()) {
    for (DType to : AllDTypes()) {
      for (Scalar v : EdgeValues(from)) {
        const auto result = Bitcast(v, from, to);
        ASSERT_EQ(result.has_value(), SizeBits(from) == SizeBits(to) && SizeBits(from) != 0);
        if (!result.has_value() || to == DType::kBool) continue;
        if (IsFloat(to) && std::isnan(result->AsFloat())) continue;
        EXPECT_EQ(Bitcast(*result, to, from), v) << Show(v, from) << " " << Name(to);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::dtype
