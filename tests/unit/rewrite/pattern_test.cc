#include "core/rewrite/pattern.h"

#include "tests/unit/rewrite/rewrite_testing.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): rules are written in its words.
using ::testing::StartsWith;

using PatternTest = RewriteTest;

// The names of what x and y were bound to, in that order, as the variable "x_y"; to see which order matched.
Ref NameOf(Graph& g, const Match& m) {
  if (m[x]->op != Op::kVariable || m[y]->op != Op::kVariable) return nullptr;
  return g.Variable(
      std::string(uop::VariableOf(m[x]).name) + "_" + std::string(uop::VariableOf(m[y]).name), 0,
      9);
}

// ** letters **

constexpr auto kKinds = rules(rule(op<Op::kNeg>(p), p), rule(op<Op::kRecip>(f), f),
                              rule(op<Op::kSin>(i), i), rule(op<Op::kSqrt>(m), m));
constexpr RuleTable kKindTable = MakeTable<kKinds, Domain::kAny>("kinds");

TEST_F(PatternTest, LetterTellsTheKind) {
  EXPECT_EQ(Rewritten("neg(b[false,true]:bool)", kKindTable), "b[false,true]:bool");
  EXPECT_EQ(Rewritten("neg(n[0,1])", kKindTable), "-n[0,1]");
  EXPECT_EQ(Rewritten("recip(f[0,1]:float32)", kKindTable), "f[0,1]:float32");
  EXPECT_EQ(Rewritten("recip(n[0,1]:int32)", kKindTable), "recip(n[0,1]:int32)");
  EXPECT_EQ(Rewritten("sin(n[0,1])", kKindTable), "n[0,1]");
  EXPECT_EQ(Rewritten("sin(n[0,1]:int64)", kKindTable), "sin(n[0,1]:int64)");
  EXPECT_EQ(Rewritten("sqrt(n[0,1]:uint8)", kKindTable), "n[0,1]:uint8");
  EXPECT_EQ(Rewritten("sqrt(f[0,1]:float16)", kKindTable), "sqrt(f[0,1]:float16)");
}

constexpr auto kRepeated =
    rules(rule(x - x, 0), rule((x * y) / y, x), rule(op<Op::kMulAcc>(c0, c1, c0), c1));
constexpr RuleTable kRepeatedTable = MakeTable<kRepeated, Domain::kAny>("repeated");

TEST_F(PatternTest, RepeatedLetterDemandsTheSameNode) {
  EXPECT_EQ(Rewritten("a[0,9] - a", kRepeatedTable), "0");
  EXPECT_EQ(Rewritten("(a[0,9] + 1) - (1 + a)", kRepeatedTable), "0");
  EXPECT_EQ(Rewritten("a[0,9] - b[0,9]", kRepeatedTable), "a[0,9] - b[0,9]");
  EXPECT_EQ(Rewritten("a[0,9] * b[0,9] / b", kRepeatedTable), "a[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] * a[0,9] / b", kRepeatedTable), "a[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] * a[0,9] / c[0,9]", kRepeatedTable), "b[0,9] * a[0,9] / c[0,9]");
  EXPECT_EQ(Rewritten("mulacc(3, 4, 3)", kRepeatedTable), "4");
  EXPECT_EQ(Rewritten("mulacc(3, 4, 5)", kRepeatedTable), "mulacc(3, 4, 5)");
}

TEST_F(PatternTest, DifferentConstantLettersMayBeOneConstant) {
  EXPECT_EQ(Rewritten("mulacc(3, 3, 3)", kRepeatedTable), "3");
}

// ** operand orders **

constexpr auto kOrders =
    rules(rule((x % 7) + y, NameOf), rule(x | y, NameOf), rule(max((x + y) * z, 5), NameOf),
          rule((x * 2) ^ (y * 3), NameOf), rule(where(p, x, y) - where(p, y, x), NameOf));
constexpr RuleTable kOrderTable = MakeTable<kOrders, Domain::kAny>("orders");

TEST_F(PatternTest, CommutativeOperandsMatchInBothOrders) {
  EXPECT_EQ(Rewritten("a[0,9] % 7 + b[0,9]", kOrderTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] + a[0,9] % 7", kOrderTable), "a_b[0,9]");
}

TEST_F(PatternTest, NestedOperandsMatchInBothOrders) {
  EXPECT_EQ(Rewritten("max((a[0,9] + b[0,9]) * c[0,9], 5)", kOrderTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("max(c[0,9] * (a[0,9] + b[0,9]), 5)", kOrderTable), "a_b[0,9]");
}

TEST_F(PatternTest, OperandsThatDifferInANumberOnlyMatchInBothOrders) {
  EXPECT_EQ(Rewritten("a[0,9] * 2 ^ b[0,9] * 3", kOrderTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] * 3 ^ a[0,9] * 2", kOrderTable), "a_b[0,9]");
}

TEST_F(PatternTest, OtherOperandsMatchInOneOrder) {
  EXPECT_EQ(Rewritten("where(b[false,true]:bool, a[0,9], c[0,9]) - where(b, c, a)", kOrderTable),
            "a_c[0,9]");
  EXPECT_EQ(Rewritten("where(b[false,true]:bool, a[0,9], c[0,9]) - where(b, c, 3)", kOrderTable),
            "where(b[false,true]:bool, a[0,9], c[0,9]) - where(b, c, 3)");
}

TEST_F(PatternTest, OrderOfTheSourcesComesFirst) {
  EXPECT_EQ(Rewritten("a[0,9] | b[0,9]", kOrderTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] | a[0,9]", kOrderTable), "b_a[0,9]");
}

// ** backtracking **

// Says no unless x is the variable "yes"; counts its calls.
Ref YesOnly(Graph&, const Match& m) {
  ++m.context<int>();
  const bool yes = m[x]->op == Op::kVariable && uop::VariableOf(m[x]).name == "yes";
  return yes ? m[x] : nullptr;
}
Ref RootItself(Graph&, const Match& m) {
  ++m.context<int>();
  return m.root();
}

constexpr auto kBacktracking = rules(rule(x + y, YesOnly), rule(max(x* y, z + w), YesOnly),
                                     rule(i* j, i).when(vmin(i) >= 100));
constexpr RuleTable kBacktrackingTable = MakeTable<kBacktracking, Domain::kAny>("backtracking");
constexpr auto kItself = rules(rule(x + y, RootItself), rule(x + y, y));
constexpr RuleTable kItselfTable = MakeTable<kItself, Domain::kAny>("itself");

TEST_F(PatternTest, FunctionThatSaysNoIsAskedAboutTheOtherOrder) {
  int calls = 0;
  EXPECT_EQ(
      Rewritten("yes[0,9] + no[0,9]", kBacktrackingTable, Order::kSourcesFirst, Context(calls)),
      "yes[0,9]");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(
      Rewritten("no[0,9] + yes[0,9]", kBacktrackingTable, Order::kSourcesFirst, Context(calls)),
      "yes[0,9]");
  EXPECT_EQ(calls, 3);
}

TEST_F(PatternTest, FunctionThatSaysNoIsAskedAboutEveryOrderOfOperandsBelow) {
  int calls = 0;
  EXPECT_EQ(Rewritten("max(a[0,9] + b[0,9], c[0,9] * yes[0,9])", kBacktrackingTable, Order::kOnce,
                      Context(calls)),
            "yes[0,9]");
  // Of a + b: 2 orders. Of the maximum: x = c with two orders of the sum, then x = yes.
  EXPECT_EQ(calls, 2 + 2 + 1);
}

TEST_F(PatternTest, ConditionThatSaysNoIsAskedAboutTheOtherOrder) {
  EXPECT_EQ(Rewritten("a[0,9] * b[100,200]", kBacktrackingTable), "b[100,200]");
  EXPECT_EQ(Rewritten("b[100,200] * a[0,9]", kBacktrackingTable), "b[100,200]");
  EXPECT_EQ(Rewritten("b[0,200] * a[0,9]", kBacktrackingTable), "b[0,200] * a[0,9]");
}

TEST_F(PatternTest, FunctionThatReturnsTheRootSaysNo) {
  int calls = 0;
  EXPECT_EQ(Rewritten("a[0,9] + b[0,9]", kItselfTable, Order::kSourcesFirst, Context(calls)),
            "b[0,9]");
  EXPECT_EQ(calls, 2) << "both orders";
}

// ** numbers **

constexpr auto kNumbers = rules(rule(x + -1, x), rule(x * 3, x), rule(op<Op::kFDiv>(x, 0.1), x),
                                rule(max(x, 0), x), rule(p != true, p));
constexpr RuleTable kNumberTable = MakeTable<kNumbers, Domain::kAny>("numbers");

TEST_F(PatternTest, NumberIsTheConstantOfThatValueInWhateverDtype) {
  EXPECT_EQ(Rewritten("a[0,9] + -1", kNumberTable), "a[0,9]");
  EXPECT_EQ(Rewritten("a[0,9]:uint8 + 255", kNumberTable), "a[0,9]:uint8");
  EXPECT_EQ(Rewritten("a[0,9]:uint64 + 18446744073709551615", kNumberTable), "a[0,9]:uint64");
  EXPECT_EQ(Rewritten("a[0,9]:float32 * 3.0", kNumberTable), "a[0,9]:float32");
  EXPECT_EQ(Rewritten("a[0,9]:float32 / 0.1", kNumberTable), "a[0,9]:float32");
  EXPECT_EQ(Rewritten("a[0,9]:float64 / 0.1", kNumberTable), "a[0,9]:float64");
  EXPECT_EQ(Rewritten("a[false,true]:bool != true", kNumberTable), "a[false,true]:bool");
  EXPECT_EQ(Rewritten("a[0,9] * 4", kNumberTable), "a[0,9] * 4");
}

TEST_F(PatternTest, ZeroIsNotMinusZero) {
  EXPECT_EQ(Rewritten("max(a[0,9]:float32, 0.0)", kNumberTable), "a[0,9]:float32");
  EXPECT_EQ(Rewritten("max(a[0,9]:float32, -0.0)", kNumberTable), "max(a[0,9]:float32, -0.0)");
}

// ** right sides **

constexpr auto kRight = rules(
    rule((x + c0) + c1, x + (c0 + c1)), rule(x - c0, x + c0 * -1), rule(x << c0, x* pow(2, c0)),
    rule(where(c0 < c1, x, y), where(x < 5, y, x)).grows("test"), rule(op<Op::kNeg>(f), f * 0.1),
    rule(cast(cast(x)), x), rule(op<Op::kSin>(x), x < 5));
constexpr RuleTable kRightTable = MakeTable<kRight, Domain::kAny>("right");

TEST_F(PatternTest, ConstantsOnTheRightAreFolded) {
  EXPECT_EQ(Rewritten("a[0,9] + 3 + 4", kRightTable), "a[0,9] + 7");
  EXPECT_EQ(Rewritten("a[0,9] - 3", kRightTable), "a[0,9] + -3");
  EXPECT_EQ(Rewritten("a[0,9] << 3", kRightTable), "a[0,9] * 8");
  EXPECT_EQ(Rewritten("a[0,9]:float32 + 3.0 + 4.5", kRightTable), "a[0,9]:float32 + 7.5");
}

TEST_F(PatternTest, RuleDoesNotFireOnOverflowOfAnIndex) {
  EXPECT_EQ(Rewritten("a[0,9] + 9223372036854775807 + 1", kRightTable),
            "a[0,9] + 9223372036854775807 + 1");
  EXPECT_EQ(Rewritten("a[0,9] - -9223372036854775808", kRightTable),
            "a[0,9] - -9223372036854775808");
}

TEST_F(PatternTest, FixedWidthConstantsWrap) {
  EXPECT_EQ(Rewritten("a[0,9]:int8 + 100 + 100", kRightTable), "a[0,9]:int8 + -56");
  EXPECT_EQ(Rewritten("a[0,9]:uint8 - 3", kRightTable), "a[0,9]:uint8 + 253");
}

TEST_F(PatternTest, NumbersOnTheRightTakeTheDtypeBesideThem) {
  EXPECT_EQ(Rewritten("where(1:int8 < 2, a[0,9]:int32, b[0,9]:int32)", kRightTable),
            "where(a[0,9]:int32 < 5, b[0,9]:int32, a)");
  EXPECT_EQ(Rewritten("where(1:int8 < 2, a[0,9]:float16, b[0,9]:float16)", kRightTable),
            "where(a[0,9]:float16 < 5.0, b[0,9]:float16, a)");
  EXPECT_EQ(Rewritten("neg(a[0,9]:float16)", kRightTable), "a[0,9]:float16 * 0.1");
}

TEST_F(PatternTest, RuleDoesNotFireIfItWouldChangeTheDtype) {
  EXPECT_EQ(Rewritten("cast(cast(a[0,9]:int8):int32):int8", kRightTable), "a[0,9]:int8");
  EXPECT_EQ(Rewritten("cast(cast(a[0,9]:int8):int32):int16", kRightTable),
            "cast(cast(a[0,9]:int8):int32):int16");
  EXPECT_EQ(Rewritten("sin(a[0,9])", kRightTable), "sin(a[0,9])");
}

// ** conditions **

constexpr auto kConditions = rules(
    rule(op<Op::kNeg>(i), 1).when(vmax(i) - vmin(i) < 10),
    rule(x % c0, 2).when(c0 > 9223372036854775807),
    rule(x / c0, 3).when(c0 == -9223372036854775807 - 1 && c0 - 1 < c0),
    rule(x ^ c0, 4).when(c0 / 0 == 0 || c0 * c0 * c0 * c0 * c0 == 0), rule(x& c0, 5).when(c0 == c0),
    rule(op<Op::kTrunc>(m), 6).when(vmax(m) <= 100), rule(op<Op::kSin>(f), 7).when(vmax(f) >= 0));
constexpr RuleTable kConditionTable = MakeTable<kConditions, Domain::kAny>("conditions");

TEST_F(PatternTest, ConditionsSeeBounds) {
  EXPECT_EQ(Rewritten("neg(a[5,14])", kConditionTable), "1");
  EXPECT_EQ(Rewritten("neg(a[5,15])", kConditionTable), "-a[5,15]");
}

TEST_F(PatternTest, ConditionDoesNotHoldWhereNoBoundIsKnown) {
  EXPECT_EQ(Rewritten("-_", kConditionTable), "-_") << "infinity - infinity is no number";
  EXPECT_EQ(Rewritten("-(a[0,9] / _)", kConditionTable), "-(a[0,9] / _)");
}

TEST_F(PatternTest, ConditionsAreExactBeyondInt64) {
  EXPECT_EQ(Rewritten("a[0,9]:uint64 % 9223372036854775808", kConditionTable), "2:uint64");
  EXPECT_EQ(Rewritten("a[0,9]:uint64 % 9223372036854775807", kConditionTable),
            "a[0,9]:uint64 % 9223372036854775807");
  EXPECT_EQ(Rewritten("a[0,9] / -9223372036854775808", kConditionTable), "3");
}

TEST_F(PatternTest, ConditionWithoutValueDoesNotHold) {
  EXPECT_EQ(Rewritten("a[0,9] ^ 9223372036854775807", kConditionTable),
            "a[0,9] ^ 9223372036854775807");
  EXPECT_EQ(Rewritten("a[0,9] ^ 0", kConditionTable), "4");
  EXPECT_EQ(Rewritten("a[0,9]:float32 & 1.0", kConditionTable), "a[0,9]:float32 & 1.0");
  EXPECT_EQ(Rewritten("sin(a[0,9]:float32)", kConditionTable), "sin(a[0,9]:float32)");
}

TEST_F(PatternTest, BoundsInConditionsAllowForWraparound) {
  EXPECT_EQ(Rewritten("trunc(a[0,50]:int8 + b[0,50]:int8)", kConditionTable), "6:int8");
  EXPECT_EQ(Rewritten("trunc(a[0,90]:int8 + b[-90,10]:int8)", kConditionTable), "6:int8");
  EXPECT_EQ(Rewritten("trunc(a[-90,50]:int8 + b[-90,50]:int8)", kConditionTable),
            "trunc(a[-90,50]:int8 + b[-90,50]:int8)")
      << "-180 is 76, but -150 is 106";
}

// ** any number of sources **

constexpr auto kOpen =
    rules(rule(op<Op::kSink>(), op<Op::kBarrier>()), rule(op<Op::kStack>(x, x, rest), x),
          rule(op<Op::kStack>(every(y * 2)), 5), rule(op<Op::kStack>(x, every(max(y, x))), x));
constexpr RuleTable kOpenTable = MakeTable<kOpen, Domain::kAny>("open");

TEST_F(PatternTest, NoSourcesMatchNoSources) {
  EXPECT_EQ(Rewritten("sink()", kOpenTable), "barrier()");
  EXPECT_THAT(Rewritten("sink(barrier())", kOpenTable), StartsWith("sink"));
}

TEST_F(PatternTest, RestIsAnyNumberOfSources) {
  EXPECT_EQ(Rewritten("stack(a[0,9], a)", kOpenTable), "a[0,9]");
  EXPECT_EQ(Rewritten("stack(a[0,9], a, b[0,9], c[0,9])", kOpenTable), "a[0,9]");
  EXPECT_EQ(Rewritten("stack(a[0,9])", kOpenTable), "a[0,9]")
      << "by the last rule: no sources are left over";
  EXPECT_EQ(Rewritten("stack(a[0,9], b[0,9])", kOpenTable), "stack(a[0,9], b[0,9])");
}

TEST_F(PatternTest, EveryRemainingSourceMatches) {
  EXPECT_EQ(Rewritten("stack(a[0,9] * 2, b[0,9] * 2, c[0,9] * 2)", kOpenTable), "5");
  EXPECT_EQ(Rewritten("stack(a[0,9] * 2, b[0,9] * 2, c[0,9] * 3)", kOpenTable),
            "stack(a[0,9] * 2, b[0,9] * 2, c[0,9] * 3)");
}

TEST_F(PatternTest, LettersInsideEveryMayDifferUnlessBoundBefore) {
  EXPECT_EQ(Rewritten("stack(a[0,9], max(a, b[0,9]), max(c[0,9], a))", kOpenTable), "a[0,9]");
  EXPECT_EQ(Rewritten("stack(a[0,9], max(a, b[0,9]), max(c[0,9], b))", kOpenTable),
            "stack(a[0,9], max(a, b[0,9]), max(c[0,9], b))");
}

// ** several ops, and names **

constexpr auto kSeveral =
    rules(rule(any_of<Op::kAdd, Op::kIDiv>(x % 7, y), NameOf), rule(max(named(z, x - y), z), z),
          rule(any_of<Op::kAnd, Op::kOr>(x, x), x));
constexpr RuleTable kSeveralTable = MakeTable<kSeveral, Domain::kAny>("several");

TEST_F(PatternTest, AnyOfSeveralOpsEachByItsOwnOrders) {
  EXPECT_EQ(Rewritten("a[0,9] % 7 + b[0,9]", kSeveralTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] + a[0,9] % 7", kSeveralTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("a[0,9] % 7 / b[0,9]", kSeveralTable), "a_b[0,9]");
  EXPECT_EQ(Rewritten("b[0,9] / (a[0,9] % 7)", kSeveralTable), "b[0,9] / (a[0,9] % 7)");
  EXPECT_EQ(Rewritten("a[0,9] % 7 * b[0,9]", kSeveralTable), "a[0,9] % 7 * b[0,9]");
  EXPECT_EQ(Rewritten("(a[0,9] | a) & a", kSeveralTable), "a[0,9]");
}

TEST_F(PatternTest, NameStandsForTheWholeNode) {
  EXPECT_EQ(Rewritten("max(a[0,9] - b[0,9], a - b)", kSeveralTable), "a[0,9] - b[0,9]");
  EXPECT_EQ(Rewritten("max(a[0,9] - b[0,9], b - a)", kSeveralTable), "max(a[0,9] - b[0,9], b - a)");
}

// ** domains **

constexpr auto kAdd = rules(rule(x + y, x), rule(x < y, true));
constexpr RuleTable kIntegerTable = MakeTable<kAdd, Domain::kInteger>("integer");
constexpr RuleTable kIndexTable = MakeTable<kAdd, Domain::kIndex>("index");
constexpr RuleTable kFloatTable = MakeTable<kAdd, Domain::kFastMath>("float");

TEST_F(PatternTest, TableIsOfferedItsDomainOnly) {
  EXPECT_EQ(Rewritten("a[0,9] + b[0,9]", kIntegerTable), "a[0,9]");
  EXPECT_EQ(Rewritten("a[0,9]:uint8 + b[0,9]:uint8", kIntegerTable), "a[0,9]:uint8");
  EXPECT_EQ(Rewritten("a[false,true]:bool + b[false,true]:bool", kIntegerTable),
            "a[false,true]:bool + b[false,true]:bool");
  EXPECT_EQ(Rewritten("a[0,9]:float32 + b[0,9]:float32", kIntegerTable),
            "a[0,9]:float32 + b[0,9]:float32");
  EXPECT_EQ(Rewritten("a[0,9]:uint8 + b[0,9]:uint8", kIndexTable), "a[0,9]:uint8 + b[0,9]:uint8");
  EXPECT_EQ(Rewritten("a[0,9]:float32 + b[0,9]:float32", kFloatTable), "a[0,9]:float32");
}

TEST_F(PatternTest, DomainOfAComparisonIsThatOfItsOperands) {
  EXPECT_EQ(Rewritten("a[0,9] < b[0,9]", kIndexTable), "true");
  EXPECT_EQ(Rewritten("a[0,9]:int8 < b[0,9]:int8", kIndexTable), "a[0,9]:int8 < b[0,9]:int8");
  EXPECT_EQ(Rewritten("a[0,9]:float32 < b[0,9]:float32", kFloatTable), "true");
}

// ** what is known of a rule **

TEST_F(PatternTest, RulePrintsAsAlgebra) {
  EXPECT_EQ(kRightTable.rules[0].text(), "((x + c0) + c1) -> (x + (c0 + c1))");
  EXPECT_EQ(kConditionTable.rules[0].text(), "neg(i) -> 1 when ((vmax(i) - vmin(i)) < 10)");
  EXPECT_EQ(kConditionTable.rules[2].text(),
            "(x / c0) -> 3 when ((c0 == -9223372036854775808) && ((c0 - 1) < c0))");
  EXPECT_EQ(kOpenTable.rules[3].text(), "stack(x, max(y, x)...) -> x");
  EXPECT_EQ(kSeveralTable.rules[0].text(), "{add|idiv}((x % 7), y) -> function");
  EXPECT_EQ(kSeveralTable.rules[1].text(), "max(z:(x - y), z) -> z");
  EXPECT_THAT(kRightTable.rules[0].where.file_name(), ::testing::EndsWith("pattern_test.cc"));
}

TEST_F(PatternTest, SizesOrderTheSidesOfARule) {
  const PatternSize left = kRightTable.rules[0].left, right = kRightTable.rules[0].right;
  EXPECT_EQ(left.operations, 2);
  EXPECT_EQ(right.operations, 1) << "what folds is no operation";
  EXPECT_LT(right, left);
  // x + x -> x * 2: fewer letters. (x + c0) + y -> (x + y) + c0: the constant is nearer to the root.
  EXPECT_LT((x * 2).Size(Side::kRight, 0), (x + x).Size(Side::kLeft, 0));
  EXPECT_LT(((x + y) + c0).Size(Side::kRight, 0), ((x + c0) + y).Size(Side::kLeft, 0));
}

}  // namespace
}  // namespace kiln::rewrite
