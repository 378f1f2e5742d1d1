// Quotients and remainders by constants, against the definition of IDIV and MOD.
#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

#include "core/codegen/decompose.h"
#include "core/codegen/decompositions.h"
#include "core/uop/text.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/codegen/program.h"

namespace kiln::codegen {
namespace {

constexpr DType kIntegers[] = {DType::kInt8,  DType::kUInt8,  DType::kInt16, DType::kUInt16,
                               DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64};
const OpSupport kShifts = {Op::kShl, Op::kShr};

Scalar Value(Int128 v, DType d) { return *dtype::WrapInteger(v, d); }

// Values near everything that matters, within [lo, hi].
std::vector<Int128> EdgeValues(DType d, Int128 lo, Int128 hi, Int128 divisor, uint64_t seed) {
  std::vector<Int128> values = {lo, lo + 1, lo + 2, hi, hi - 1, hi - 2, -2, -1, 0, 1, 2};
  support::Random random(seed);
  for (int bit = 0; bit < dtype::SizeBits(d); ++bit) {
    for (int delta : {-1, 0, 1}) {
      values.push_back((Int128{1} << bit) + delta);
      values.push_back(-(Int128{1} << bit) + delta);
    }
    values.push_back(static_cast<Int128>(random.Next() >> bit));
    values.push_back(-static_cast<Int128>(random.Next() >> bit));
  }
  // Around multiples of the divisor, the largest included: where a wrong factor shows first.
  if (divisor != 0) {
    for (Int128 q : {Int128{1}, Int128{2}, Int128{3}, hi / divisor - 1, hi / divisor, lo / divisor,
                     static_cast<Int128>(random.Next() >> 32)}) {
      for (int delta : {-1, 0, 1}) values.push_back(q * divisor + delta);
    }
  }
  std::erase_if(values, [&](Int128 v) { return v < lo || v > hi; });
  return values;
}

// Divisors of every kind, as values of `d`.
std::vector<Int128> Divisors(DType d, uint64_t seed) {
  std::vector<Int128> divisors = {0,  1,  2,  3,   5,   6,   7,   9,   10,   11,  12,
                                  14, 25, 28, 100, 125, 448, 625, 641, 1000, 1001};
  support::Random random(seed);
  for (int bit = 1; bit <= dtype::SizeBits(d); ++bit) {
    for (int delta : {-1, 0, 1}) divisors.push_back((Int128{1} << bit) + delta);
    divisors.push_back((Int128{3} << bit) / 2);
    divisors.push_back(static_cast<Int128>(random.Next() >> (64 - bit)));
    divisors.push_back(static_cast<Int128>(random.Next() >> (64 - bit)) & ~Int128{6});
  }
  for (Int128 e : {dtype::MaxValue(d), dtype::MaxValue(d) / 2, dtype::MaxValue(d) / 3,
                   dtype::MaxValue(d) / 5}) {
    for (int delta : {-1, 0, 1}) divisors.push_back(e + delta);
  }
  if (dtype::IsSigned(d)) {
    for (size_t i = 0, n = divisors.size(); i < n; ++i) divisors.push_back(-divisors[i]);
    divisors.push_back(dtype::MinValue(d));
  }
  std::erase_if(divisors,
                [d](Int128 v) { return v < dtype::MinValue(d) || v > dtype::MaxValue(d); });
  std::sort(divisors.begin(), divisors.end());
  divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
  return divisors;
}

class IntegerDivision : public ::testing::TestWithParam<DType> {
 protected:
  // Compares x / divisor and x % divisor for x in [lo, hi] with their definition, for these values.
  void Check(DType d, Int128 lo, Int128 hi, Int128 divisor, absl::Span<const Int128> values) {
    Graph g;
    const Ref x = g.Variable(d, "x", Value(lo, d), Value(hi, d));
    const Ref c = g.Const(d, Value(divisor, d));
    for (Op op : {Op::kIDiv, Op::kMod}) {
      const Ref exact = g.Binary(op, x, c);
      KILN_ASSERT_OK_AND_ASSIGN(const Ref fast, Decompose(g, exact, kShifts));
      ASSERT_TRUE(uop::Visit(fast, [&](Ref n) { return !n->Is(Op::kIDiv) && !n->Is(Op::kMod); }))
          << uop::ToText(fast);
      Program program(fast, {x});
      for (Int128 v : values) {
        const Scalar a = Value(v, d);
        const Scalar operands[] = {a, c->arg.scalar()};
        ASSERT_EQ(program(a), *dtype::EvalAlu(uop::ToAlu(op), d, operands))
            << Name(op) << " of " << ToString(v) << " by " << ToString(divisor) << ": "
            << uop::ToText(fast);
      }
    }
  }
};

TEST_P(IntegerDivision, IsExactOnTheWholeRange) {
  const DType d = GetParam();
  const Int128 lo = dtype::MinValue(d), hi = dtype::MaxValue(d);
  for (Int128 divisor : Divisors(d, 1))
    Check(d, lo, hi, divisor, EdgeValues(d, lo, hi, divisor, 2));
}

TEST_P(IntegerDivision, IsExactOnNarrowRanges) {
  const DType d = GetParam();
  support::Random random(3);
  for (int i = 0; i < 400; ++i) {
    const auto bound = [&] {
      return dtype::FromBits(random.Next() >> random.Uniform(0, 63), d).AsWide(d);
    };
    Int128 lo = random.Chance(1, 2) ? 0 : bound(), hi = bound();
    if (lo > hi) std::swap(lo, hi);
    const std::vector<Int128> divisors = Divisors(d, random.Next());
    for (int k = 0; k < 4; ++k) {
      const Int128 divisor = random.Pick(absl::MakeConstSpan(divisors));
      Check(d, lo, hi, divisor, EdgeValues(d, lo, hi, divisor, random.Next()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, IntegerDivision, ::testing::ValuesIn(kIntegers),
                         [](const auto& p) { return std::string(dtype::Name(p.param)); });

class ExhaustiveIntegerDivision : public IntegerDivision {};

TEST_P(ExhaustiveIntegerDivision, IsExactForAllOperandsOf8Bits) {
  const DType d = GetParam();
  std::vector<Int128> all;
  for (Int128 v = dtype::MinValue(d); v <= dtype::MaxValue(d); ++v) all.push_back(v);
  for (Int128 divisor : all) Check(d, all.front(), all.back(), divisor, all);
}

INSTANTIATE_TEST_SUITE_P(DTypes, ExhaustiveIntegerDivision,
                         ::testing::Values(DType::kInt8, DType::kUInt8),
                         [](const auto& p) { return std::string(dtype::Name(p.param)); });

TEST(IntegerDivisionOf16Bits, IsExactForAllNumerators) {
  for (DType d : {DType::kInt16, DType::kUInt16}) {
    Graph g;
    const Ref x = g.Variable(d, "x", Value(dtype::MinValue(d), d), Value(dtype::MaxValue(d), d));
    for (Int128 divisor : {2, 3, 7, 10, 11, 64, 448, 641, 1000, 16385, 32767}) {
      Program quotient(internal::DivideByConstant(g, x, divisor), {x});
      Program remainder(internal::RemainderByConstant(g, x, divisor), {x});
      for (Int128 v = dtype::MinValue(d); v <= dtype::MaxValue(d); ++v) {
        ASSERT_EQ(quotient(Value(v, d)), Value(v / divisor, d))
            << ToString(v) << " / " << ToString(divisor);
        ASSERT_EQ(remainder(Value(v, d)), Value(v % divisor, d))
            << ToString(v) << " % " << ToString(divisor);
      }
    }
  }
}

TEST(IntegerDivisionForm, StaysInTheNarrowestType) {
  Graph g;
  const auto text = [&](DType d, int64_t lo, int64_t hi, Int128 divisor) {
    const Ref x = g.Variable(d, "x", Scalar::Int(lo), Scalar::Int(hi));
    return uop::ToText(internal::DivideByConstant(g, x, divisor));
  };
  EXPECT_EQ(text(DType::kInt32, 0, 1000, 8), "x[0,1000]:int32 >> 3");
  EXPECT_EQ(text(DType::kInt32, 0, 1000, 7), "(x[0,1000]:int32 * 1171) >> 13");
  EXPECT_EQ(text(DType::kInt32, 0, 6, 7), "0:int32");
}

TEST(IntegerDivisionForm, NeedsShifts) {
  Graph g;
  const Ref x = g.Variable(DType::kInt32, "x", Scalar::Int(0), Scalar::Int(1000));
  const Ref quotient = g.IDiv(x, g.Int(DType::kInt32, 7));
  KILN_ASSERT_OK_AND_ASSIGN(const Ref same, Decompose(g, quotient, OpSupport{}));
  EXPECT_EQ(same, quotient);
}

}  // namespace
}  // namespace kiln::codegen
