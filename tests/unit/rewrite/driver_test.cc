#include "core/rewrite/driver.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/uop/walk.h"
#include "tests/unit/rewrite/rewrite_testing.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): rules are written in its words.
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// What was offered, in order.
struct Offers {
  std::vector<Ref> nodes;
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (Ref n : nodes) names.push_back(uop::ToText(n));
    return names;
  }
};
Ref Record(Graph&, const Match& m) {
  m.context<Offers>().nodes.push_back(m.root());
  return nullptr;
}
constexpr auto kRecord =
    rules(rule(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kIDiv, Op::kMod, Op::kMax>(rest), Record),
          rule(op<Op::kVariable>(), Record), rule(op<Op::kSink>(rest), Record));
constexpr RuleTable kRecordTable = MakeTable<kRecord, Domain::kAny>("record");

constexpr auto kSmall =
    rules(rule((x + c0) + c1, x + (c0 + c1)), rule((x * c0) * c1, x*(c0* c1)),
          rule(x* c0 + x * c1, x*(c0 + c1)), rule(x* c0 + x, x*(c0 + 1)), rule(x + x, x * 2),
          rule((x + c0) + y, (x + y) + c0), rule(x + 0, x), rule(x * 1, x), rule(x - x, 0),
          rule(c0 + c1, c0 + c1), rule(c0* c1, c0* c1));
constexpr RuleTable kSmallTable = MakeTable<kSmall, Domain::kInteger>("small");

class DriverTest : public RewriteTest {
 protected:
  RewriteCounters Since(const RewriteCounters& before) {
    const RewriteCounters now = ThreadCounters();
    return {now.offered - before.offered, now.hits - before.hits};
  }
  // A chain of n operations that no rule matches.
  Ref Chain(int n) {
    Ref e = g.Variable("a", 0, 9);
    Ref b = g.Variable("b", 0, 9);
    for (int i = 0; i < n; ++i) e = i % 2 == 0 ? g.Max(e, b) : g.Mod(e, b);
    return e;
  }
};

// ** sources first **

TEST_F(DriverTest, SourcesFirstOffersSourcesBeforeUsers) {
  Offers offers;
  Rewritten("max(a[0,9] * b[0,9], a % b)", kRecordTable, Order::kSourcesFirst, Context(offers));
  EXPECT_THAT(offers.names(), ElementsAre("a[0,9]", "b[0,9]", "a[0,9] * b[0,9]", "a[0,9] % b[0,9]",
                                          "max(a[0,9] * b[0,9], a % b)"));
}

TEST_F(DriverTest, SourcesFirstOffersEachNodeAtMostOnceAndWithFinalSources) {
  Offers offers;
  const RuleSet rules = kRecordTable + kSmallTable;
  const auto result = Run(
      "%0 = a[0,9] + 0; %1 = (%0 * 2 + %0) * (a + 3 + 4); %2 = %1 - %0 + (%1 - %0); max(%2, %1)",
      rules, Order::kSourcesFirst, Context(offers));
  ASSERT_TRUE(result.ok()) << result.status();
  std::set<Ref> seen;
  for (Ref n : offers.nodes) {
    EXPECT_TRUE(seen.insert(n).second) << uop::ToText(n) << " was offered twice";
    for (Ref s : n->src()) {
      EXPECT_TRUE(s->IsConst() || seen.contains(s))
          << uop::ToText(n) << " came before its source " << uop::ToText(s);
      // Final: a rewrite of the source alone finds nothing.
      Offers more;
      const auto again = Rewrite(g, s, {.name = "test", .rules = rules, .context = Context(more)});
      EXPECT_EQ(*again, s) << uop::ToText(n) << " was offered with a source that is not final";
    }
  }
}

TEST_F(DriverTest, EveryNodeOfTheResultHasBeenOfferedAndRefused) {
  Offers offers;
  // Recording comes last: what it sees, the rules before it have refused.
  const RuleSet rules = kSmallTable + kRecordTable;
  const auto result =
      Run("%0 = a[0,9] + 0; %1 = (%0 * 2 + %0) * (a + 3 + 4); %2 = %1 - %0 + (%1 - %0); max(%2, %1 "
          "+ 5 + a)",
          rules, Order::kSourcesFirst, Context(offers));
  ASSERT_TRUE(result.ok()) << result.status();
  for (Ref n : uop::Toposort(*result)) {
    if (n->IsConst()) continue;
    EXPECT_EQ(std::count(offers.nodes.begin(), offers.nodes.end(), n), 1) << uop::ToText(n);
  }
}

TEST_F(DriverTest, ReplacementIsItselfRewritten) {
  EXPECT_EQ(Rewritten("a[0,9] * 3 + a + 4 + 5 + (a - a)", kSmallTable), "a[0,9] * 4 + 9");
}

TEST_F(DriverTest, FirstRuleThatFiresWins) {
  static constexpr auto kFirst = rules(rule(x / y, x), rule(x / y, y));
  static constexpr RuleTable kFirstTable = MakeTable<kFirst, Domain::kAny>("first");
  static constexpr auto kOther = rules(rule(x / y, 7), rule(x % y, 7));
  static constexpr RuleTable kOtherTable = MakeTable<kOther, Domain::kAny>("other");
  EXPECT_EQ(Rewritten("a[0,9] / b[0,9]", kFirstTable), "a[0,9]");
  EXPECT_EQ(Rewritten("a[0,9] / b[0,9]", kOtherTable + kFirstTable), "7");
  EXPECT_EQ(Rewritten("a[0,9] / b[0,9]", kFirstTable + kOtherTable), "a[0,9]");
  EXPECT_EQ(Rewritten("a[0,9] % b[0,9]", kFirstTable + kOtherTable), "7");
}

TEST_F(DriverTest, KeepsOpArgAndTagOfANodeWhoseSourcesChange) {
  EXPECT_EQ(Rewritten("sink(unstack{1}(add(a[0,9] + 0, stack(a, a))#3)#4)", kSmallTable),
            "sink(unstack{1}(add(a[0,9], stack(a, a))#3)#4)");
}

// ** users first **

Ref StopAtMax(Graph&, const Match& m) { return m.Stop(m.root()); }
Ref StopWithProduct(Graph& g, const Match& m) { return m.Stop(g.Mul(m[x], m[y])); }
Ref StopThenNo(Graph&, const Match& m) {
  m.Stop(m[x]);
  return nullptr;
}
constexpr auto kStops =
    rules(rule(op<Op::kSub>(x, y), StopThenNo), rule(max(x, y), StopAtMax),
          rule(x % y, StopWithProduct).grows("test"), rule(x* y, x + y), rule(x - y, x / y));
constexpr RuleTable kStopTable = MakeTable<kStops, Domain::kAny>("stops");

TEST_F(DriverTest, UsersFirstOffersUsersBeforeSources) {
  Offers offers;
  Rewritten("max(a[0,9] * b[0,9], a % b)", kRecordTable, Order::kUsersFirst, Context(offers));
  EXPECT_THAT(offers.names(), ElementsAre("max(a[0,9] * b[0,9], a % b)", "a[0,9] * b[0,9]",
                                          "a[0,9]", "b[0,9]", "a[0,9] % b[0,9]"));
}

TEST_F(DriverTest, UsersFirstOffersAReplacementAgain) {
  EXPECT_EQ(Rewritten("(a[0,9] + 1) + 2 + 3 + (a * 2 + 0)", kSmallTable, Order::kUsersFirst),
            "a[0,9] * 3 + 6");
}

TEST_F(DriverTest, UsersFirstOffersANodeAnewWhenItsSourcesChanged) {
  EXPECT_EQ(Rewritten("(a[0,9] + 0) + a", kSmallTable, Order::kUsersFirst), "a[0,9] * 2");
}

TEST_F(DriverTest, StoppedNodeIsKeptAndNothingBelowItIsVisited) {
  EXPECT_EQ(Rewritten("a[0,9] * b[0,9]", kStopTable, Order::kUsersFirst), "a[0,9] + b[0,9]");
  EXPECT_EQ(Rewritten("max(a[0,9] * b[0,9], a)", kStopTable, Order::kUsersFirst),
            "max(a[0,9] * b[0,9], a)");
  EXPECT_EQ(Rewritten("a[0,9] * b[0,9] % b", kStopTable, Order::kUsersFirst),
            "a[0,9] * b[0,9] * b");
}

TEST_F(DriverTest, StoppedNodeIsKeptUnderARebuiltUser) {
  EXPECT_EQ(Rewritten("a[0,9] % b[0,9] + c[0,9] * a", kStopTable, Order::kUsersFirst),
            "a[0,9] * b[0,9] + (c[0,9] + a)");
}

TEST_F(DriverTest, StopConcernsOnePlaceAndNotTheSameNodeElsewhere) {
  EXPECT_EQ(Rewritten("stack(a[0,9] % b[0,9], a * b)", kStopTable, Order::kUsersFirst),
            "stack(a[0,9] * b[0,9], a + b)");
  EXPECT_EQ(Rewritten("stack(a[0,9] * b[0,9], a % b)", kStopTable, Order::kUsersFirst),
            "stack(a[0,9] + b[0,9], a * b)");
}

TEST_F(DriverTest, RuleThatSaysNoHasNotStopped) {
  EXPECT_EQ(Rewritten("(a[0,9] * b[0,9]) - b", kStopTable, Order::kUsersFirst),
            "(a[0,9] + b[0,9]) / b");
}

TEST_F(DriverTest, InOtherOrdersStopIsAnOrdinaryReplacement) {
  EXPECT_EQ(Rewritten("a[0,9] * b[0,9] % b", kStopTable), "a[0,9] + b[0,9] + b");
  EXPECT_EQ(Rewritten("max(a[0,9] * b[0,9], a)", kStopTable), "max(a[0,9] + b[0,9], a)");
}

// ** once **

Ref Count(Graph& g, const Match& m) {
  return g.Variable(absl::StrCat("n", m.context<int>()++), 0, 9);
}
constexpr auto kNumber = rules(rule(op<Op::kVariable>(), Count));
constexpr RuleTable kNumberTable = MakeTable<kNumber, Domain::kAny>("number");
constexpr auto kSwap = rules(rule(x * y, x % y), rule(x % y, x* y));
constexpr RuleTable kSwapTable = MakeTable<kSwap, Domain::kAny>("swap");

TEST_F(DriverTest, OnceDoesNotRevisitReplacements) {
  EXPECT_EQ(Rewritten("a[0,9] % (b[0,9] * c[0,9])", kSwapTable, Order::kOnce),
            "a[0,9] * (b[0,9] % c[0,9])");
  int next = 0;
  EXPECT_EQ(
      Rewritten("n1[0,9] + n0[0,9] * n2[0,9] - n1", kNumberTable, Order::kOnce, Context(next)),
      "n0[0,9] + n1[0,9] * n2[0,9] - n0");
  EXPECT_EQ(next, 3);
}

TEST_F(DriverTest, OnceOffersEachInputNodeOnceAfterItsSourcesWereReplaced) {
  Offers offers;
  const RuleSet rules = kRecordTable + kSwapTable;
  Rewritten("%0 = a[0,9] * b[0,9]; max(%0, %0 / 3)", rules, Order::kOnce, Context(offers));
  EXPECT_THAT(offers.names(),
              ElementsAre("a[0,9]", "b[0,9]", "a[0,9] * b[0,9]", "a[0,9] % b[0,9] / 3",
                          "%0 = a[0,9] % b[0,9]; max(%0, %0 / 3)"));
}

// ** errors **

Ref FailOnDivision(Graph&, const Match& m) {
  return m.Fail(absl::InvalidArgumentError("no division"));
}
constexpr auto kFailing = rules(rule(x / 0, FailOnDivision), rule(x + 0, x));
constexpr RuleTable kFailingTable = MakeTable<kFailing, Domain::kAny>("failing");
constexpr RuleSet kFailingMemoised = RuleSet(kFailingTable).Memoised(3);

TEST_F(DriverTest, FailEndsTheRunWithItsErrorInEachOrder) {
  for (Order order : {Order::kSourcesFirst, Order::kUsersFirst, Order::kOnce}) {
    EXPECT_EQ(Rewritten("a[0,9] / 0 + 1", kFailingTable, order),
              "INVALID_ARGUMENT: no division, in pass \"test\"");
  }
}

TEST_F(DriverTest, FailLeavesNothingBehind) {
  const std::string error = "INVALID_ARGUMENT: no division, in pass \"test\"";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Rewritten("max(a[0,9] + 0, a / 0) + 1", kFailingMemoised), error);
    EXPECT_EQ(Rewritten("a[0,9] / 0", kFailingMemoised), error);
    EXPECT_EQ(Rewritten("max(a[0,9] + 0, a / 1) + 1", kFailingMemoised), "max(a[0,9], a / 1) + 1");
  }
}

TEST_F(DriverTest, FailReachesTheCallerWhenARunIsTraced) {
  Trace trace;
  const auto result =
      Rewrite(g, Parse("a[0,9] / 0"), {.name = "traced", .rules = kFailingTable, .trace = &trace});
  EXPECT_EQ(result.status().ToString(), "INVALID_ARGUMENT: no division, in pass \"traced\"");
}

// ** rules that do not end **

constexpr auto kGrowing = rules(rule(x * c0, x*(c0 + 1)), rule(x - y, y - x));
constexpr RuleTable kGrowingTable = MakeTable<kGrowing, Domain::kAny>("growing");
constexpr auto kWrapping = rules(rule(op<Op::kSin>(x), op<Op::kSin>(op<Op::kSin>(x))));
constexpr RuleTable kWrappingTable = MakeTable<kWrapping, Domain::kAny>("wrapping");

TEST_F(DriverTest, CycleIsReportedWithItsRules) {
  for (Order order : {Order::kSourcesFirst, Order::kUsersFirst}) {
    const std::string error =
        Rewritten("(a[0,9] * b[0,9] + 0) / 5", RuleSet(kSwapTable) + kFailingTable, order);
    EXPECT_THAT(
        error,
        AllOf(
            HasSubstr(
                "INTERNAL: pass \"test\" does not end: a[0,9] * b[0,9] leads back to itself by: "),
            HasSubstr("driver_test.cc:"), HasSubstr("(x * y) -> (x % y)"),
            HasSubstr("(x % y) -> (x * y)")));
    EXPECT_THAT(error, Not(HasSubstr("x + 0"))) << "has no part in it";
  }
}

TEST_F(DriverTest, ReplacementThatContainsTheNodeIsReported) {
  EXPECT_THAT(Rewritten("sin(a[0,9]) + 1", kWrappingTable),
              HasSubstr("sin(a[0,9]) leads back to itself by: "));
  EXPECT_THAT(Rewritten("sin(a[0,9]) + 1", kWrappingTable, Order::kUsersFirst),
              HasSubstr("sin(sin(x))"));
  EXPECT_EQ(Rewritten("sin(a[0,9]) + 1", kWrappingTable, Order::kOnce), "sin(sin(a[0,9])) + 1");
}

TEST_F(DriverTest, EndlessGrowthIsReportedWithItsRules) {
  for (Order order : {Order::kSourcesFirst, Order::kUsersFirst}) {
    EXPECT_THAT(
        Rewritten("a[0,9] * 2 + 1", kGrowingTable, order),
        AllOf(HasSubstr("INTERNAL: pass \"test\" made "), HasSubstr(" replacements without end"),
              HasSubstr("(x * c0) -> (x * (c0 + 1))")));
  }
}

TEST_F(DriverTest, LimitOfReplacementsIsThePasss) {
  const auto result =
      Rewrite(g, Parse("a[0,9] * 2"), {.name = "short", .rules = kGrowingTable, .max_hits = 5});
  EXPECT_THAT(result.status().ToString(),
              HasSubstr("pass \"short\" made 6 replacements without end"));
}

TEST_F(DriverTest, RuleSetIsUsableAfterAReport) {
  static constexpr RuleSet kMemoised = (RuleSet(kSwapTable) + kSmallTable).Memoised(4);
  EXPECT_THAT(Rewritten("(a[0,9] + 0) * b[0,9] + c[0,9]", kMemoised), HasSubstr("does not end"));
  EXPECT_THAT(Rewritten("(a[0,9] + 0) * b[0,9] + c[0,9]", kMemoised), HasSubstr("does not end"));
  EXPECT_EQ(Rewritten("(a[0,9] + 0) + 1 + 1", kMemoised), "a[0,9] + 2");
}

// ** memory of pure sets **

constexpr RuleSet kSmallMemoised = RuleSet(kSmallTable).Memoised(5);

TEST_F(DriverTest, MemoisedSetIsNotOfferedANodeTwiceInTheLifeOfTheGraph) {
  RewriteCounters before = ThreadCounters();
  EXPECT_EQ(Rewritten("(a[0,9] + 0) * 3 + a", kSmallMemoised), "a[0,9] * 4");
  EXPECT_GT(Since(before).offered, 0);
  before = ThreadCounters();
  EXPECT_EQ(Rewritten("(a[0,9] + 0) * 3 + a", kSmallMemoised), "a[0,9] * 4");
  EXPECT_EQ(Rewritten("(a[0,9] + 0) * 3", kSmallMemoised), "a[0,9] * 3");
  EXPECT_EQ(Rewritten("a[0,9] * 4", kSmallMemoised), "a[0,9] * 4");
  EXPECT_EQ(Since(before).offered, 0);
  EXPECT_EQ(Rewritten("((a[0,9] + 0) * 3 + a) * 5", kSmallMemoised), "a[0,9] * 20");
  EXPECT_EQ(Since(before).offered, 2) << "a * 4 * 5 and a * 20";
}

TEST_F(DriverTest, SetsAndOrdersDoNotShareTheirMemory) {
  static constexpr RuleSet kStopMemoised = RuleSet(kStopTable).Memoised(6);
  EXPECT_EQ(Rewritten("a[0,9] + 0 + b[0,9] * a", kFailingMemoised), "a[0,9] + b[0,9] * a");
  EXPECT_EQ(Rewritten("a[0,9] + 0 + b[0,9] * a", kStopMemoised), "a[0,9] + 0 + (b[0,9] + a)");
  EXPECT_EQ(Rewritten("max(a[0,9] * b[0,9], a)", kStopMemoised), "max(a[0,9] + b[0,9], a)");
  EXPECT_EQ(Rewritten("max(a[0,9] * b[0,9], a)", kStopMemoised, Order::kUsersFirst),
            "max(a[0,9] * b[0,9], a)");
  EXPECT_EQ(Rewritten("max(a[0,9] * b[0,9], a)", kStopMemoised), "max(a[0,9] + b[0,9], a)");
}

TEST_F(DriverTest, RunWithAContextIsNotRemembered) {
  static constexpr RuleSet kMemoised = RuleSet(kNumberTable).Memoised(7);
  int next = 5;
  EXPECT_EQ(Rewritten("a[0,9] + 1", kMemoised, Order::kOnce, Context(next)), "n5[0,9] + 1");
  EXPECT_EQ(Rewritten("a[0,9] + 1", kMemoised, Order::kOnce, Context(next)), "n6[0,9] + 1");
}

// ** runs within runs **

extern const RuleSet kNesting;
// Rewrites the divisor by the same rules first.
Ref RewriteDivisor(Graph& g, const Match& m) {
  const auto divisor = Rewrite(g, g.Add(m[y], g.Index(0)), {.name = "inner", .rules = kNesting});
  if (!divisor.ok()) return m.Fail(divisor.status());
  return *divisor == m[y] ? nullptr : g.Mod(m[x], *divisor);
}
Ref RewriteItself(Graph& g, const Match& m) {
  const auto again = Rewrite(g, g.Max(m.root(), m[x]), {.name = "inner", .rules = kNesting});
  return again.ok() ? *again : m.Fail(again.status());
}
constexpr auto kNestingRules =
    rules(rule(x % y, RewriteDivisor), rule(x ^ y, RewriteItself), rule(x / y, FailOnDivision));
constexpr RuleTable kNestingTable = MakeTable<kNestingRules, Domain::kAny>("nesting");
const RuleSet kNesting = (RuleSet(kNestingTable) + kSmallTable).Memoised(8);

TEST_F(DriverTest, RuleMayRewriteByItsOwnSet) {
  const Ref e = g.Mod(g.Variable("a", 0, 9), g.Mod(g.Variable("b", 0, 9), Parse("c[0,9] * 2 + c")));
  const auto result = Rewrite(g, e, {.name = "outer", .rules = kNesting});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(uop::ToText(*result), "a[0,9] % (b[0,9] % (c[0,9] * 3))");
}

TEST_F(DriverTest, ErrorOfAnInnerRunReachesTheOuterOne) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Rewritten("a[0,9] % (b[0,9] / 3)", kNesting),
              "INVALID_ARGUMENT: no division, in pass \"test\"");
  }
}

TEST_F(DriverTest, EndlessNestingIsReported) {
  const std::string error = Rewritten("a[0,9] ^ b[0,9]", kNesting);
  EXPECT_THAT(error, HasSubstr("pass \"inner\" is nested 48 deep, at max(a[0,9] ^ b[0,9], a)"));
  EXPECT_EQ(Rewritten("a[0,9] + a", kNesting), "a[0,9] * 2");
}

// ** n-ary trees **

bool ProductLeaves(Ref n, std::vector<Ref>& out) {
  if (n->op != Op::kMul || (n->normal_marks & 1) != 0) return false;
  std::vector<Ref> stack = {n};
  while (!stack.empty()) {
    Ref top = stack.back();
    stack.pop_back();
    if (top->op == Op::kMul) {
      stack.push_back(top->src(1));
      stack.push_back(top->src(0));
    } else {
      out.push_back(top);
    }
  }
  return true;
}
Ref SortedProduct(Graph& g, Ref, absl::Span<const Ref> leaves) {
  std::vector<Ref> factors;
  for (Ref n : leaves) {
    if (!ProductLeaves(n, factors)) factors.push_back(n);
  }
  std::stable_sort(factors.begin(), factors.end(), [](Ref a, Ref b) { return a->id < b->id; });
  Ref product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) {
    product = g.Mul(product, factors[i]);
    product->normal_marks |= 1;
  }
  return product;
}
constexpr NaryHook kProducts = {&ProductLeaves, &SortedProduct};
constexpr RuleSet kNary = RuleSet(kSmallTable).WithNary(kProducts).Memoised(9);

TEST_F(DriverTest, TreeOfOneOperationIsRebuiltFromItsOperands) {
  Parse("a[0,9] + b[0,9] + c[0,9] + d[0,9]");
  EXPECT_EQ(Rewritten("d[0,9] * (c[0,9] * (b[0,9] + 0) * a[0,9])", kNary),
            "a[0,9] * b[0,9] * c[0,9] * d[0,9]");
}

TEST_F(DriverTest, TreeIsRewrittenOnceWhateverItsLength) {
  Ref e = g.Variable("v", 0, 9);
  constexpr int kFactors = 2000;
  for (int i = 0; i < kFactors; ++i) e = g.Mul(g.Variable(absl::StrCat("v", i), 0, 9), e);
  const RewriteCounters before = ThreadCounters();
  ASSERT_TRUE(Rewrite(g, e, {.name = "test", .rules = kNary}).ok());
  EXPECT_LE(Since(before).offered, kFactors + 1);
}

Ref NeverNormal(Graph& g, Ref n, absl::Span<const Ref>) {
  return g.Mul(n->src(0), g.Add(n->src(1), g.Index(1)));
}
constexpr NaryHook kEndless = {&ProductLeaves, &NeverNormal};

TEST_F(DriverTest, EndlessRebuildingIsReported) {
  EXPECT_THAT(Rewritten("a[0,9] * b[0,9]", RuleSet(kSmallTable).WithNary(kEndless)),
              AllOf(HasSubstr("INTERNAL"), HasSubstr("the n-ary hook")));
}

// ** size **

TEST_F(DriverTest, ChainOfAMillionNodesIsRewrittenInEachOrder) {
  constexpr int kLength = 1'000'000;
  const Ref chain = Chain(kLength);
  for (Order order : {Order::kSourcesFirst, Order::kUsersFirst, Order::kOnce}) {
    Ref zero = g.Add(chain, g.Index(0));
    const auto result = Rewrite(g, zero, {.name = "test", .rules = kSmallTable, .order = order});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, chain);
  }
  // Every node changes.
  int next = 0;
  const auto renamed = Rewrite(
      g, chain,
      {.name = "test", .rules = kNumberTable, .order = Order::kOnce, .context = Context(next)});
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_NE(*renamed, chain);
  EXPECT_EQ(uop::CountNodes(*renamed), uop::CountNodes(chain));
}

constexpr auto kCountDown = rules(rule(x * c0, x*(c0 + -1)).when(c0 > 0));
constexpr RuleTable kCountDownTable = MakeTable<kCountDown, Domain::kIndex>("count down");

TEST_F(DriverTest, ManyReplacementsOfOneNodeDoNotRecurse) {
  for (Order order : {Order::kSourcesFirst, Order::kUsersFirst}) {
    const Ref from = g.Mul(g.Variable("a", 0, 9), g.Index(200'000));
    const auto result = Rewrite(
        g, from, {.name = "test", .rules = kCountDownTable, .order = order, .max_hits = 400'000});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(uop::ToText(*result), "a[0,9] * 0");
  }
}

TEST_F(DriverTest, SharedNodesAreVisitedOnce) {
  // 2^200,000 paths.
  constexpr int kNodes = 200'000;
  Ref a = g.Add(g.Variable("a", 0, 9), g.Index(0)), b = g.Variable("b", 0, 9);
  for (int i = 0; i < kNodes / 2; ++i) {
    Ref c = g.Max(a, b), d = g.Mod(b, a);
    a = c;
    b = d;
  }
  const Ref root = g.Mod(a, b);
  Offers offers;
  for (Order order : {Order::kSourcesFirst, Order::kUsersFirst, Order::kOnce}) {
    const RewriteCounters before = ThreadCounters();
    const auto result = Rewrite(g, root, {.name = "test", .rules = kSmallTable, .order = order});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(uop::CountNodes(*result), kNodes + 3);
    EXPECT_LE(Since(before).offered, 2 * (kNodes + 5));
  }
}

TEST_F(DriverTest, CountersCountOffersAndHits) {
  const RewriteCounters before = ThreadCounters();
  EXPECT_EQ(Rewritten("(a[0,9] + 0) * 3", kSmallTable), "a[0,9] * 3");
  EXPECT_EQ(Since(before).offered, 2) << "a + 0, a * 3";
  EXPECT_EQ(Since(before).hits, 1);
}

}  // namespace
}  // namespace kiln::rewrite
