#include "core/symbolic/evaluate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/facts.h"
#include "tests/support/random_expr.h"
#include "tests/support/status_matchers.h"

namespace kiln::symbolic {
namespace {

using ::kiln::support::IsOkAndHolds;
using ::kiln::support::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Scalar I(int64_t v) { return Scalar::Int(v); }
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class EvaluateTest : public ::testing::Test {
 protected:
  Ref C(int64_t v) { return g_.Index(v); }
  absl::StatusOr<Scalar> Value(Ref n, std::map<std::string, Scalar, std::less<>> variables = {}) {
    return Evaluate(g_, n, {.variables = std::move(variables)});
  }

  Graph g_;
  const Ref a_ = g_.Variable("a", -10, 10);
  const Ref b_ = g_.Variable("b", -10, 10);
};

TEST_F(EvaluateTest, LooksUpVariablesByName) {
  EXPECT_THAT(Value(g_.Sub(a_, b_), {{"a", I(2)}, {"b", I(3)}, {"c", I(4)}}), IsOkAndHolds(I(-1)));
}

TEST_F(EvaluateTest, NamesTheVariableThatIsMissing) {
  EXPECT_THAT(Value(g_.Add(a_, b_), {{"a", I(2)}}),
              StatusIs(kInvalid, "variable \"b\" has no value; it is in [-10, 10]"));
}

TEST_F(EvaluateTest, NamesTheVariableThatIsOutOfItsBounds) {
  EXPECT_THAT(Value(a_, {{"a", I(11)}}),
              StatusIs(kInvalid, "variable \"a\" is 11, not in [-10, 10]"));
  EXPECT_THAT(Value(a_, {{"a", I(-11)}}), StatusIs(kInvalid, HasSubstr("\"a\" is -11")));
  const Ref f = g_.Variable(DType::kFloat32, "f", Scalar::Float(0), Scalar::Float(1));
  EXPECT_THAT(Value(f, {{"f", Scalar::Float(0.5)}}), IsOkAndHolds(Scalar::Float(0.5)));
  EXPECT_THAT(Value(f, {{"f", Scalar::Float(NAN)}}), StatusIs(kInvalid, HasSubstr("\"f\" is nan")));
}

TEST_F(EvaluateTest, TruncatesDivision) {
  EXPECT_THAT(Value(g_.IDiv(a_, b_), {{"a", I(-7)}, {"b", I(2)}}), IsOkAndHolds(I(-3)));
  EXPECT_THAT(Value(g_.Mod(a_, b_), {{"a", I(-7)}, {"b", I(2)}}), IsOkAndHolds(I(-1)));
  EXPECT_THAT(Value(g_.Mod(a_, b_), {{"a", I(7)}, {"b", I(-2)}}), IsOkAndHolds(I(1)));
}

TEST_F(EvaluateTest, RefusesToDivideAnIndexByZero) {
  EXPECT_THAT(Value(g_.IDiv(a_, b_), {{"a", I(1)}, {"b", I(0)}}),
              StatusIs(kInvalid, "division by zero in (a//b)"));
}

TEST_F(EvaluateTest, RefusesIndexValuesThatLeaveInt64) {
  const Ref big = C(int64_t{1} << 62);
  EXPECT_THAT(Value(g_.Mul(a_, big), {{"a", I(2)}}),
              StatusIs(kInvalid, HasSubstr("does not fit int64")));
  EXPECT_THAT(Value(g_.Cast(g_.Const(DType::kFloat64, Scalar::Float(1e30)), DType::kIndex)),
              StatusIs(kInvalid, HasSubstr("does not fit int64")));
}

TEST_F(EvaluateTest, WrapsMachineIntegers) {
  const Ref x = g_.Variable(DType::kInt8, "x", I(-128), I(127));
  EXPECT_THAT(Value(g_.Add(x, g_.Int(DType::kInt8, 1)), {{"x", I(127)}}), IsOkAndHolds(I(-128)));
  EXPECT_THAT(Value(g_.Cast(x, DType::kUInt8), {{"x", I(-1)}}), IsOkAndHolds(I(255)));
}

TEST_F(EvaluateTest, ComputesOnlyTheBranchTaken) {
  const Ref safe = g_.Where(g_.Ne(b_, C(0)), g_.IDiv(C(12), b_), C(-1));
  EXPECT_THAT(Value(safe, {{"b", I(4)}}), IsOkAndHolds(I(3)));
  EXPECT_THAT(Value(safe, {{"b", I(0)}}), IsOkAndHolds(I(-1)));
  EXPECT_THAT(Value(g_.Where(g_.Bool(false), a_, C(5))), IsOkAndHolds(I(5)));
}

TEST_F(EvaluateTest, PrefersTheGivenValueOfABoundVariable) {
  const Ref bound = g_.Make(Op::kBind, DType::kIndex, {a_, C(3)});
  EXPECT_THAT(Value(bound), IsOkAndHolds(I(3)));
  EXPECT_THAT(Value(bound, {{"a", I(4)}}), IsOkAndHolds(I(4)));
}

TEST_F(EvaluateTest, TakesRangesByAxisAndLaunchIndicesByName) {
  const Ref sum = g_.Add(g_.Range(a_, 7), g_.Mul(g_.Special("gidx0", C(4)), C(10)));
  EXPECT_THAT(Evaluate(g_, sum, {.variables = {{"a", I(3)}, {"gidx0", I(2)}}, .ranges = {{7, 1}}}),
              IsOkAndHolds(I(21)));
  EXPECT_THAT(Evaluate(g_, sum, {.variables = {{"a", I(3)}, {"gidx0", I(2)}}, .ranges = {{7, 3}}}),
              StatusIs(kInvalid, "range \"ridx7\" is 3; it counts from 0 to below 3"));
  EXPECT_THAT(
      Evaluate(g_, sum, {.variables = {{"a", I(3)}}, .ranges = {{7, 1}}}),
      StatusIs(kInvalid, "launch index \"gidx0\" has no value; it counts from 0 to below 4"));
}

class EvaluateLoadTest : public EvaluateTest {
 protected:
  Ref Load(Ref index, Ref gate = nullptr, Ref alternative = nullptr) {
    const Ref place = gate == nullptr ? g_.Make(Op::kIndex, DType::kInt32, {param_, index})
                                      : g_.Make(Op::kIndex, DType::kInt32, {param_, index, gate});
    return alternative == nullptr ? g_.Make(Op::kLoad, DType::kInt32, {place})
                                  : g_.Make(Op::kLoad, DType::kInt32, {place, alternative});
  }
  absl::StatusOr<Scalar> Value(Ref n, int64_t a) {
    return Evaluate(g_, n, {.variables = {{"a", I(a)}}, .buffers = {{1, {I(5), I(6), I(7)}}}});
  }

  const Ref param_ = g_.Param(DType::kInt32, "data1", 1, 3, AddressSpace::kGlobal);
};

TEST_F(EvaluateLoadTest, ReadsBuffersByNumber) {
  EXPECT_THAT(Value(Load(a_), 2), IsOkAndHolds(I(7)));
  EXPECT_THAT(Value(Load(g_.Cast(Load(g_.Mul(a_, C(0))), DType::kIndex)), 2),
              StatusIs(kInvalid, "load of element 5 of buffer 1, which has 3"));
  EXPECT_THAT(Value(Load(a_), -1), StatusIs(kInvalid, HasSubstr("element -1")));
  EXPECT_THAT(Evaluate(g_, Load(C(0)), {}), StatusIs(kInvalid, "buffer 1 has no contents"));
}

TEST_F(EvaluateLoadTest, DoesNotLookBehindAFalseGate) {
  const Ref gate = g_.Lt(a_, C(3));
  EXPECT_THAT(Value(Load(a_, gate, g_.Int(DType::kInt32, -1)), 2), IsOkAndHolds(I(7)));
  EXPECT_THAT(Value(Load(a_, gate, g_.Int(DType::kInt32, -1)), 9), IsOkAndHolds(I(-1)));
  EXPECT_THAT(Value(Load(a_, gate), 9), IsOkAndHolds(I(0)));
}

TEST_F(EvaluateTest, PicksElementsOfStacks) {
  const auto stack = [this](Ref x, Ref y) { return g_.Make(Op::kStack, DType::kIndex, {x, y}); };
  const auto pick = [this](Ref x, int64_t i) {
    return g_.Make(Op::kUnstack, DType::kIndex, {x}, Arg::Int(i));
  };
  EXPECT_THAT(Value(pick(stack(C(4), C(5)), 1)), IsOkAndHolds(I(5)));
  const Ref matrix = stack(stack(C(1), C(2)), stack(C(3), C(4)));
  EXPECT_THAT(Value(pick(pick(matrix, 1), 0)), IsOkAndHolds(I(3)));
  EXPECT_THAT(Value(pick(a_, 0), {{"a", I(1)}}), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_F(EvaluateTest, RefusesOpsWithoutAValue) {
  EXPECT_THAT(Value(g_.Make(Op::kContiguous, DType::kIndex, {a_})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("contiguous(a)")));
  EXPECT_THAT(Value(g_.Unary(Op::kSin, C(1))),
              StatusIs(absl::StatusCode::kUnimplemented, "sin of index has no value: sin(1)"));
}

TEST_F(EvaluateTest, IsLinearInSharedNodesAndNotRecursive) {
  Ref n = a_;
  for (int i = 0; i < 1'000'000; ++i) n = g_.Max(n, g_.Unary(Op::kNeg, n));
  EXPECT_THAT(Value(n, {{"a", I(-2)}}), IsOkAndHolds(I(2)));
}

TEST_F(EvaluateTest, StaysWithinBounds) {
  for (int seed = 0; seed < 1000; ++seed) {
    Graph g;
    support::RandomExpressions random(g, seed, {.depth = 5});
    const Ref n = random.Index(), p = random.Bool();
    for (int i = 0; i < 10; ++i) {
      const Bindings values = random.Values();
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar v, Evaluate(g, n, values));
      EXPECT_TRUE(BoundsOf(g, n).Contains(v.AsInt()));
      KILN_ASSERT_OK_AND_ASSIGN(const Scalar q, Evaluate(g, p, values));
      EXPECT_TRUE(BoundsOf(g, p).Contains(q.AsInt()));
    }
  }
}

TEST(VariableNames, AreSortedAndUnique) {
  Graph g;
  const Ref b = g.Variable("b", 0, 5), a = g.Variable("a", 0, 5), other_a = g.Variable("a", 0, 6);
  const Ref bound = g.Make(Op::kBind, DType::kIndex, {g.Variable("c", 0, 9), g.Index(3)});
  const Ref sum = g.Add(g.Add(g.Add(b, a), g.Add(other_a, bound)), g.Special("gidx0", g.Index(3)));
  EXPECT_THAT(VariableNames(sum), ElementsAre("a", "b", "c"));
  EXPECT_THAT(VariableNames(g.Index(0)), ElementsAre());
}

}  // namespace
}  // namespace kiln::symbolic
