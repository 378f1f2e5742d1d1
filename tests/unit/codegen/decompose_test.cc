#include "core/codegen/decompose.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "core/codegen/decompositions.h"
#include "core/uop/text.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/codegen/program.h"

namespace kiln::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Ref Any(Graph& g, DType d, std::string_view name) {
  if (dtype::IsFloat(d))
    return g.Variable(d, name, Scalar::Float(-kInfinity), Scalar::Float(kInfinity));
  return g.Variable(d, name, *dtype::WrapInteger(dtype::MinValue(d), d),
                    *dtype::WrapInteger(dtype::MaxValue(d), d));
}

bool Contains(Ref root, Op op) {
  return !uop::Visit(root, [op](Ref n) { return !n->Is(op); });
}

// Values of a dtype: random bits, small numbers and the ends.
Scalar RandomValue(support::Random& random, DType d) {
  switch (random.Uniform(0, 3)) {
    case 0:
      return dtype::FromBits(random.Next(), d);
    case 1:
      return dtype::FromBits(random.Next() >> random.Uniform(0, 63), d);
    case 2:
      return *dtype::Cast(Scalar::Int(random.Uniform(-70, 70)), DType::kInt64, d);
    default:
      return dtype::IsFloat(d) ? Scalar::Float(random.Chance(1, 2) ? kInfinity : 0.0)
                               : *dtype::WrapInteger(dtype::MaxValue(d) + random.Uniform(-1, 1), d);
  }
}

// Decomposes op(x, y) for a target that lacks it and compares the values.
void CheckBinary(Op op, DType d, const OpSupport& target, int count) {
  Graph g;
  const Ref x = Any(g, d, "x"), y = Any(g, d, "y");
  const Ref exact = g.Binary(op, x, y);
  KILN_ASSERT_OK_AND_ASSIGN(const Ref composed, Decompose(g, exact, target));
  ASSERT_FALSE(Contains(composed, op)) << uop::ToText(composed);
  Program program(composed, {x, y});
  support::Random random(1);
  for (int i = 0; i < count; ++i) {
    const Scalar a = RandomValue(random, d);
    const Scalar b = random.Chance(1, 8) ? a : RandomValue(random, d);
    const Scalar operands[] = {a, b};
    const Scalar expected = *dtype::EvalAlu(uop::ToAlu(op), d, operands);
    const Scalar got = program(a, b);
    const bool both_zero = dtype::IsFloat(d) && got.AsFloat() == 0 &&
                           expected.AsFloat() == 0;  // max(-0, +0) is either.
    ASSERT_TRUE(got == expected || (op == Op::kMax && both_zero))
        << std::string(Name(op)) << " of " << a.bits() << " and " << b.bits() << " in "
        << std::string(dtype::Name(d));
  }
}

constexpr DType kIntegers[] = {DType::kInt8,  DType::kUInt8,  DType::kInt16, DType::kUInt16,
                               DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64};
constexpr DType kFloats[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

TEST(Decompose, ComposesIntegerOps) {
  for (DType d : kIntegers) {
    for (Op op : {Op::kSub, Op::kMax, Op::kCmpEq, Op::kShl, Op::kShr, Op::kPow})
      CheckBinary(op, d, {}, 4000);
  }
}

TEST(Decompose, ComposesFloatOps) {
  for (DType d : kFloats) {
    for (Op op : {Op::kSub, Op::kMax, Op::kCmpEq}) CheckBinary(op, d, {}, 4000);
  }
}

TEST(Decompose, ComposesThreefryBitForBit) {
  CheckBinary(Op::kThreefry, DType::kUInt64, {}, 2000);
  CheckBinary(Op::kThreefry, DType::kUInt64, {Op::kShl, Op::kShr}, 2000);
}

TEST(Decompose, ShiftsByConstantsOutOfRange) {
  for (DType d : kIntegers) {
    for (Op op : {Op::kShl, Op::kShr}) {
      for (int64_t count : {-1, 0, 1, 7, 8, 31, 32, 63, 64, 100}) {
        Graph g;
        const Ref x = Any(g, d, "x");
        const Ref shift = g.Binary(op, x, g.Int(d, count));
        KILN_ASSERT_OK_AND_ASSIGN(const Ref composed, Decompose(g, shift, {}));
        Program program(composed, {x}), exact(shift, {x});
        support::Random random(2);
        for (int i = 0; i < 200; ++i) {
          const Scalar v = RandomValue(random, d);
          ASSERT_EQ(program(v), exact(v)) << uop::ToText(shift) << " of " << v.AsInt();
        }
      }
    }
  }
}

TEST(Decompose, TruncatesLikeTrunc) {
  for (DType d : kFloats) {
    Graph g;
    const Ref x = Any(g, d, "x");
    const Ref trunc = g.Unary(Op::kTrunc, x);
    KILN_ASSERT_OK_AND_ASSIGN(const Ref composed, Decompose(g, trunc, {}));
    ASSERT_FALSE(Contains(composed, Op::kTrunc));
    Program program(composed, {x}), exact(trunc, {x});
    support::Random random(3);
    for (int i = 0; i < 20000; ++i) {
      double v = static_cast<double>(random.Uniform(-4000000000, 4000000000)) *
                 std::ldexp(1.0, static_cast<int>(random.Uniform(-40, 30)));
      if (random.Chance(1, 4)) v = RandomValue(random, d).AsFloat();
      const Scalar s = Scalar::Float(dtype::RoundToFloat(v, d));
      ASSERT_EQ(program(s), exact(s)) << s.AsFloat();
    }
  }
}

class FormTest : public ::testing::Test {
 protected:
  std::string Form(Ref n, const OpSupport& target, symbolic::Math math = symbolic::Math::kExact) {
    const absl::StatusOr<Ref> result = Decompose(g_, n, target, math);
    return result.ok() ? uop::ToText(*result) : std::string(result.status().message());
  }
  Ref C(int64_t v) { return g_.Int(DType::kInt32, v); }

  Graph g_;
  const Ref i_ = g_.Variable(DType::kInt32, "i", Scalar::Int(-9), Scalar::Int(9));
  const Ref j_ = g_.Variable(DType::kInt32, "j", Scalar::Int(-9), Scalar::Int(9));
  const Ref f_ = g_.Variable(DType::kFloat32, "f", Scalar::Float(-1), Scalar::Float(1));
  const Ref h_ = g_.Variable(DType::kFloat32, "h", Scalar::Float(-1), Scalar::Float(1));
};

TEST_F(FormTest, UsesNativeFormsWhereListed) {
  EXPECT_EQ(Form(g_.Mul(i_, C(8)), {Op::kShl}), "i[-9,9]:int32 << 3");
  EXPECT_EQ(Form(g_.Mul(i_, C(6)), {Op::kShl}), "i[-9,9]:int32 * 6");
  EXPECT_EQ(Form(g_.Neg(i_), {Op::kNeg}), "-i[-9,9]:int32");
  EXPECT_EQ(Form(g_.Sub(i_, j_), {Op::kNeg, Op::kSub}), "i[-9,9]:int32 - j[-9,9]:int32");
  EXPECT_EQ(Form(g_.Sub(i_, j_), {Op::kSub}), "i[-9,9]:int32 - j[-9,9]:int32");
  EXPECT_EQ(Form(g_.Not(g_.Ne(i_, j_)), {Op::kCmpEq}), "i[-9,9]:int32 == j[-9,9]:int32");
  EXPECT_EQ(Form(g_.Add(g_.Mul(f_, h_), f_), {Op::kMulAcc}),
            "mulacc(f[-1,1]:float32, h[-1,1]:float32, f)");
}

TEST_F(FormTest, KeepsTheBaseOpsOtherwise) {
  for (Ref n :
       {g_.Mul(i_, C(8)), g_.Neg(i_), g_.Sub(i_, j_), g_.Add(g_.Mul(f_, h_), f_), g_.IDiv(i_, C(3)),
        g_.Mul(f_, g_.Unary(Op::kRecip, h_)), g_.Binary(Op::kFDiv, f_, h_)}) {
    KILN_ASSERT_OK_AND_ASSIGN(const Ref same, Decompose(g_, n, {}));
    EXPECT_EQ(same, n);
  }
}

TEST_F(FormTest, ComparesForTheMaximum) {
  EXPECT_EQ(Form(g_.Max(i_, j_), {}), "where(i[-9,9]:int32 < j[-9,9]:int32, j, i)");
  // Neither can be NaN.
  EXPECT_EQ(Form(g_.Max(f_, h_), {}), "where(f[-1,1]:float32 < h[-1,1]:float32, h, f)");
}

TEST_F(FormTest, DividesOnceOnlyInFastMath) {
  const Ref quotient = g_.Mul(f_, g_.Unary(Op::kRecip, h_));
  const OpSupport target = {Op::kFDiv};
  KILN_ASSERT_OK_AND_ASSIGN(const Ref exact, Decompose(g_, quotient, target));
  EXPECT_TRUE(exact->Is(Op::kMul));
  KILN_ASSERT_OK_AND_ASSIGN(const Ref fast, Decompose(g_, quotient, target, symbolic::Math::kFast));
  EXPECT_EQ(fast, g_.Binary(Op::kFDiv, f_, h_));
}

TEST_F(FormTest, KnowsWhichDTypesATargetSupports) {
  OpSupport target;
  target.Add(Op::kShl, DType::kInt64);
  EXPECT_EQ(Form(g_.Mul(i_, C(8)), target), "i[-9,9]:int32 * 8");
  target.Add(Op::kShl);
  target.Remove(Op::kShl, DType::kInt64);
  EXPECT_EQ(Form(g_.Mul(i_, C(8)), target), "i[-9,9]:int32 << 3");
}

}  // namespace
}  // namespace kiln::codegen
