#include "core/rewrite/trace.h"

#include "tests/unit/rewrite/rewrite_testing.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): rules are written in its words.
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr auto kTwo = rules(rule(x + 0, x), rule((x + c0) + c1, x + (c0 + c1)), rule(x * 1, x));
constexpr RuleTable kTwoTable = MakeTable<kTwo, Domain::kAny>("two");
constexpr auto kMore = rules(rule(x + x, x * 2));
constexpr RuleTable kMoreTable = MakeTable<kMore, Domain::kAny>("more");

// Each look at this clock takes a microsecond.
uint64_t now = 0;
uint64_t FakeClock() { return now += 1000; }

class TraceTest : public RewriteTest {
 protected:
  Ref Traced(std::string_view text, Trace& trace) {
    const auto result =
        Rewrite(g, Parse(text), {.name = "test", .rules = kTwoTable + kMoreTable, .trace = &trace});
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  }
};

TEST_F(TraceTest, RecordsRuleBeforeAfterAndTimeInOrder) {
  Trace trace({.now_ns = &FakeClock});
  Traced("(a[0,9] + 0) + 3 + 4", trace);
  ASSERT_THAT(trace.events(), SizeIs(2));
  EXPECT_EQ(trace.events()[0].rule->text(), "(x + 0) -> x");
  EXPECT_EQ(uop::ToText(trace.events()[0].before), "a[0,9] + 0");
  EXPECT_EQ(uop::ToText(trace.events()[0].after), "a[0,9]");
  EXPECT_EQ(trace.events()[0].ns, 1000u);
  EXPECT_EQ(uop::ToText(trace.events()[1].before), "a[0,9] + 3 + 4");
  EXPECT_EQ(uop::ToText(trace.events()[1].after), "a[0,9] + 7");
}

TEST_F(TraceTest, TotalsCountTriesAndHitsAndTimeByRule) {
  Trace trace({.now_ns = &FakeClock});
  Traced("(a[0,9] + 0) + 3 + 4", trace);
  const std::vector<Trace::Total> totals = trace.Totals();
  ASSERT_THAT(totals, SizeIs(3));
  // Offered: a+0, a+3, (a+3)+4, a+7.
  EXPECT_EQ(totals[0].rule->text(), "(x + 0) -> x");
  EXPECT_EQ(totals[0].tries, 4);
  EXPECT_EQ(totals[0].hits, 1);
  EXPECT_EQ(totals[0].ns, 4000u);
  EXPECT_EQ(totals[1].rule->text(), "((x + c0) + c1) -> (x + (c0 + c1))");
  EXPECT_EQ(totals[1].tries, 3) << "the rule before it took a+0";
  EXPECT_EQ(totals[2].rule->text(), "(x + x) -> (x * 2)");
  EXPECT_EQ(totals[2].tries, 2);
  EXPECT_EQ(totals[2].hits, 0);
}

TEST_F(TraceTest, SummaryNamesPlaceAndAlgebra) {
  Trace trace({.now_ns = &FakeClock});
  Traced("(a[0,9] + 0) + 3 + 4", trace);
  EXPECT_THAT(trace.Summary(),
              HasSubstr("hits    tries        us  rule\n       1        4       4.0  "));
  EXPECT_THAT(trace.Summary(),
              ::testing::ContainsRegex("trace_test.cc:[0-9]+  \\(x \\+ 0\\) -> x\n"));
}

TEST_F(TraceTest, TracedRunGivesTheSameResult) {
  Trace trace;
  for (const char* text :
       {"(a[0,9] + 0) + 3 + 4", "a[0,9] + a", "(a[0,9] * 1 + 2) + (a + 2)", "a[0,9]"}) {
    EXPECT_EQ(uop::ToText(Traced(text, trace)), Rewritten(text, kTwoTable + kMoreTable));
  }
}

TEST_F(TraceTest, WithoutClockAllTimesAreZero) {
  Trace trace;
  Traced("a[0,9] + 0", trace);
  EXPECT_EQ(trace.Totals()[0].ns, 0u);
}

TEST_F(TraceTest, EventsAreLimitedTotalsAreNot) {
  Trace trace({.max_events = 2});
  Traced("a[0,9] + 1 + 2 + 3 + 4 + 5", trace);
  EXPECT_THAT(trace.events(), SizeIs(2));
  EXPECT_EQ(trace.Totals()[0].hits, 4);
}

}  // namespace
}  // namespace kiln::rewrite
