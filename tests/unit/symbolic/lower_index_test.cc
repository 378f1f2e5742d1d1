#include "core/symbolic/lower_index.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "core/uop/walk.h"
#include "tests/support/random_expr.h"
#include "tests/support/status_matchers.h"

namespace kiln::symbolic {
namespace {

using ::kiln::support::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kBillion = 1'000'000'000;

class LowerIndexTest : public ::testing::Test {
 protected:
  Ref C(int64_t v) { return g_.Index(v); }
  Ref Lower(Ref n) {
    const absl::StatusOr<Ref> lowered = LowerIndex(g_, n);
    KILN_EXPECT_OK(lowered);
    return lowered.value_or(nullptr);
  }
  std::string Lowered(Ref n) {
    const Ref lowered = Lower(n);
    return lowered == nullptr ? "" : Render(lowered);
  }
  Ref Place(Ref element) { return g_.Make(Op::kIndex, DType::kInt64, {param_, element}); }
  Ref Place(Ref element, Ref gate) {
    return g_.Make(Op::kIndex, DType::kInt64, {param_, element, gate});
  }
  Ref Load(Ref place) { return g_.Make(Op::kLoad, DType::kInt64, {place}); }

  Graph g_;
  const Ref i_ = g_.Variable("i", 0, 99);
  const Ref n_ = g_.Variable("n", 0, 5 * kBillion);
  const Ref param_ = g_.Param(DType::kInt64, "data0", 0, -1, AddressSpace::kGlobal);
};

TEST_F(LowerIndexTest, PrefersInt32) {
  const Ref n = Lower(g_.IDiv(g_.Add(g_.Mul(i_, C(4)), C(-3)), C(7)));
  EXPECT_EQ(Render(n), "(((i*4)+-3)//7)");
  for (Ref m : uop::Toposort(n)) EXPECT_EQ(m->dtype, DType::kInt32);
}

TEST_F(LowerIndexTest, TakesInt64WhereTheValueOrAnOperandDoesNotFit) {
  EXPECT_EQ(Lowered(g_.Mul(i_, C(kBillion))), "((long)(i)*1000000000)");
  const Ref quotient = g_.IDiv(n_, C(kBillion));
  EXPECT_EQ(Lower(quotient)->dtype, DType::kInt64);
  EXPECT_EQ(Lowered(quotient), "(n//1000000000)");
}

TEST_F(LowerIndexTest, ReturnsToInt32WhereEverythingFits) {
  EXPECT_EQ(Lowered(g_.Add(g_.IDiv(n_, C(kBillion)), i_)), "((int)((n//1000000000))+i)");
}

TEST_F(LowerIndexTest, UsesTheExactEndsOfInt32) {
  EXPECT_EQ(Lower(g_.Add(i_, C(INT32_MAX - 99)))->dtype, DType::kInt32);
  EXPECT_EQ(Lower(g_.Add(i_, C(INT32_MAX - 98)))->dtype, DType::kInt64);
  EXPECT_EQ(Lower(C(INT32_MIN))->dtype, DType::kInt32);
  EXPECT_EQ(Lower(C(int64_t{INT32_MIN} - 1))->dtype, DType::kInt64);
}

TEST_F(LowerIndexTest, GivesCountersTheDTypeOfTheirEnd) {
  EXPECT_EQ(Lower(g_.Range(8, 0)), g_.Range(g_.Int(DType::kInt32, 8), 0));
  EXPECT_EQ(Lower(g_.Special("gidx0", C(8))), g_.Special("gidx0", g_.Int(DType::kInt32, 8)));
  const Ref wide = Lower(g_.Range(n_, 0));
  EXPECT_EQ(wide->dtype, DType::kInt64);
  EXPECT_EQ(wide->src(0)->dtype, DType::kInt64);
  // 2^31 does not fit, although all values of the counter do.
  EXPECT_EQ(Lower(g_.Range(int64_t{1} << 31, 0))->dtype, DType::kInt64);
}

TEST_F(LowerIndexTest, KeepsNamesAndBoundsOfVariables) {
  EXPECT_EQ(Lower(i_), g_.Variable(DType::kInt32, "i", Scalar::Int(0), Scalar::Int(99)));
  EXPECT_EQ(Lower(n_), g_.Variable(DType::kInt64, "n", Scalar::Int(0), Scalar::Int(5 * kBillion)));
  const Ref bound = Lower(g_.Make(Op::kBind, DType::kIndex, {n_, C(3)}));
  EXPECT_EQ(bound->dtype, DType::kInt64);
  EXPECT_EQ(bound->src(1), g_.Int(DType::kInt64, 3));
}

TEST_F(LowerIndexTest, ComparesInTheWiderOperand) {
  EXPECT_EQ(Lowered(g_.Lt(i_, n_)), "((long)(i)<n)");
  EXPECT_EQ(Lowered(g_.Lt(i_, C(5))), "(i<5)");
  const Ref with_wide_constant = Lower(g_.Lt(i_, C(5 * kBillion)));
  EXPECT_EQ(with_wide_constant->src(0)->dtype, DType::kInt64);
  EXPECT_EQ(with_wide_constant->dtype, DType::kBool);
}

TEST_F(LowerIndexTest, DropsCastsToTheSameDType) {
  EXPECT_EQ(Lowered(g_.Cast(i_, DType::kInt32)), "i");
  EXPECT_EQ(Lowered(g_.Cast(n_, DType::kInt32)), "(int)(n)");
  EXPECT_EQ(Lowered(g_.Cast(i_, DType::kFloat32)), "(float)(i)");
  const Ref v = g_.Variable(DType::kInt32, "v", Scalar::Int(INT32_MIN), Scalar::Int(INT32_MAX));
  EXPECT_EQ(Lower(g_.Cast(v, DType::kIndex)), v);
  const Ref narrow = g_.Variable(DType::kUInt8, "u", Scalar::Int(0), Scalar::Int(255));
  EXPECT_EQ(Lower(g_.Cast(narrow, DType::kIndex)), g_.Cast(narrow, DType::kInt32));
}

TEST_F(LowerIndexTest, TakesWhatAMachineComputedForWhatItIs) {
  // The sum may wrap; as an index it is some int32 value.
  const Ref v = g_.Variable(DType::kInt32, "v", Scalar::Int(INT32_MIN), Scalar::Int(INT32_MAX));
  const Ref index = g_.Cast(g_.Add(v, v), DType::kIndex);
  EXPECT_EQ(Lowered(index), "(v+v)");
  EXPECT_EQ(Lowered(g_.Add(index, C(1))), "((long)((v+v))+1)");
  const Ref f =
      g_.Variable(DType::kFloat32, "f", Scalar::Float(-INFINITY), Scalar::Float(INFINITY));
  EXPECT_EQ(Lowered(g_.Cast(f, DType::kIndex)), "(long)(f)");
}

TEST_F(LowerIndexTest, LowersSelectionAndStacks) {
  EXPECT_EQ(Lowered(g_.Where(g_.Lt(i_, C(3)), n_, i_)), "(n if (i<3) else (long)(i))");
  const Ref stack = g_.Make(Op::kStack, DType::kIndex, {i_, n_});
  EXPECT_EQ(Lowered(stack), "stack((long)(i), n)");
  EXPECT_EQ(Lower(g_.Make(Op::kUnstack, DType::kIndex, {stack}, Arg::Int(0)))->dtype,
            DType::kInt64);
}

TEST_F(LowerIndexTest, LeavesOtherNodesAsTheyAre) {
  const Ref f = g_.Variable(DType::kFloat32, "f", Scalar::Float(0), Scalar::Float(1));
  const Ref sum = g_.Add(f, f);
  EXPECT_EQ(Lower(sum), sum);
  const Ref range = g_.Range(8, 0);
  const Ref store = g_.Make(Op::kStore, DType::kVoid, {Place(range), Load(Place(range))});
  const Ref end = Lower(g_.Make(Op::kEnd, DType::kVoid, {store, range}));
  EXPECT_EQ(end->src(1), Lower(range));
  EXPECT_EQ(end->src(0)->src(0)->src(1), Lower(range));
}

TEST_F(LowerIndexTest, LowersTheIndexOfAGatedAccessByItsGate) {
  const Ref loaded = g_.Cast(Load(Place(C(0))), DType::kIndex);
  const Ref gate = g_.And(g_.Not(g_.Lt(loaded, C(0))), g_.Lt(loaded, C(3000)));
  const Ref place = Lower(Place(g_.Mul(loaded, C(600)), gate));
  EXPECT_EQ(Render(place->src(1)), "((int)(load(index(param(), 0)))*600)");
  EXPECT_EQ(place->src(1)->dtype, DType::kInt32);
  // The gate itself is looked at as it comes.
  EXPECT_EQ(place->src(2)->src(1)->src(0)->dtype, DType::kInt64);
}

TEST_F(LowerIndexTest, LowersMachineArithmeticUnderAGate) {
  const auto c = [this](int64_t v) { return g_.Int(DType::kInt64, v); };
  const Ref loaded = Load(Place(C(0)));
  const Ref gate = g_.And(g_.Not(g_.Lt(loaded, c(0))), g_.Lt(loaded, c(3000)));
  const Ref place = Lower(Place(g_.Cast(g_.Mul(loaded, c(600)), DType::kIndex), gate));
  EXPECT_EQ(Render(place->src(1)), "(int)((load(index(param(), 0))*600))");
}

TEST_F(LowerIndexTest, AcceptsAnIndexThatFitsOnlyUnderItsGate) {
  const Ref loaded = g_.Cast(Load(Place(C(0))), DType::kIndex);
  const Ref element = g_.Mul(loaded, C(600));
  EXPECT_THAT(LowerIndex(g_, Place(element)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit int64")));
  const Ref place = Lower(Place(element, g_.And(g_.Lt(C(-1), loaded), g_.Lt(loaded, C(kBillion)))));
  EXPECT_EQ(place->src(1)->dtype, DType::kInt64);
}

TEST_F(LowerIndexTest, GivesAnyIndexToAnAccessThatIsNeverMade) {
  const Ref place = Lower(Place(g_.Mul(n_, C(2)), g_.Lt(n_, C(0))));
  EXPECT_EQ(place->src(1), g_.Int(DType::kInt32, 0));
}

TEST_F(LowerIndexTest, NamesTheNodeThatDoesNotFit) {
  EXPECT_THAT(
      LowerIndex(g_, g_.Add(g_.Mul(n_, g_.Mul(n_, C(2))), C(1))),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "index (n*(n*2)) is in [0, 50000000000000000000], which does not fit int64"));
}

TEST_F(LowerIndexTest, DoesNotRecurse) {
  Ref n = i_;
  for (int k = 0; k < 300'000; ++k) n = g_.Max(g_.Neg(n), i_);
  EXPECT_EQ(Lower(n)->dtype, DType::kInt32);
}

TEST(LowerIndex, KeepsTheValuesOfRandomExpressions) {
  int narrow = 0, wide = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Graph g;
    support::RandomExpressions random(
        g, seed,
        {.depth = 5, .max_extent = int64_t{1} << (seed % 36), .max_constant = 1 << (seed % 20)});
    const Ref n = seed % 2 == 0 ? random.Index() : random.Bool();
    KILN_ASSERT_OK_AND_ASSIGN(const Ref lowered, LowerIndex(g, n));
    EXPECT_EQ(*LowerIndex(g, lowered), lowered);
    for (Ref m : uop::Toposort(lowered)) {
      EXPECT_NE(m->dtype, DType::kIndex);
      (m->dtype == DType::kInt64 ? wide : narrow) += 1;
    }
    for (int i = 0; i < 10; ++i) {
      const Bindings values = random.Values();
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar expected, Evaluate(g, n, values));
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar actual, Evaluate(g, lowered, values));
      EXPECT_EQ(actual.AsInt(), expected.AsInt()) << Render(n) << "\n" << Render(lowered);
    }
  }
  EXPECT_GT(narrow, 4000);
  EXPECT_GT(wide, 4000);
}

}  // namespace
}  // namespace kiln::symbolic
