#include "core/runtime/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/runtime/host_timeline.h"
#include "tests/support/status_matchers.h"

namespace kiln::runtime {
namespace {

using support::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Timeline, NotifiesOnceInOrderOfValues) {
  HostTimeline timeline;
  std::vector<int> calls;
  timeline.Notify(0, [&] { calls.push_back(0); });
  EXPECT_THAT(calls, ElementsAre(0));
  timeline.Notify(3, [&] { calls.push_back(3); });
  timeline.Notify(2, [&] { calls.push_back(2); });
  timeline.Notify(2, [&] { calls.push_back(22); });
  timeline.Signal(1);
  EXPECT_THAT(calls, ElementsAre(0));
  timeline.Signal(2);
  EXPECT_THAT(calls, ElementsAre(0, 2, 22));
  timeline.Signal(9);
  timeline.Signal(10);
  EXPECT_THAT(calls, ElementsAre(0, 2, 22, 3));
}

TEST(Timeline, NotifyLaterNeverCalls) {
  HostTimeline timeline;
  bool called = false;
  Timeline::Callback callback = [&] { called = true; };
  EXPECT_FALSE(timeline.NotifyLater(0, callback));
  EXPECT_FALSE(called);
  EXPECT_TRUE(timeline.NotifyLater(1, callback));
  EXPECT_FALSE(called);
  timeline.Signal(1);
  EXPECT_TRUE(called);
}

TEST(Timeline, CallbacksMayUseTheTimeline) {
  HostTimeline timeline;
  std::vector<uint64_t> values;
  timeline.Notify(1, [&] {
    values.push_back(timeline.value());
    timeline.Notify(2, [&] { values.push_back(timeline.value()); });
    timeline.Signal(2);
  });
  timeline.Signal(1);
  EXPECT_THAT(values, ElementsAre(1, 2));
}

TEST(Timeline, CallbacksOfOneThatDiesAreDropped) {
  auto object = std::make_shared<int>(1);
  {
    HostTimeline timeline;
    timeline.Notify(1, [object] {});
    EXPECT_EQ(object.use_count(), 2);
  }
  EXPECT_EQ(object.use_count(), 1);
}

TEST(Timeline, NoCallbackIsLostWhenThreadsSignal) {
  for (int round = 0; round < 200; ++round) {
    HostTimeline timeline;
    std::atomic<int> calls = 0;
    std::thread signals([&] {
      for (uint64_t i = 1; i <= 20; ++i) timeline.Signal(i);
    });
    for (uint64_t i = 1; i <= 20; ++i) timeline.Notify(i, [&] { ++calls; });
    signals.join();
    EXPECT_EQ(calls, 20);
  }
}

TEST(WhenPassed, WaitsForAllAndTellsTheFirstError) {
  HostTimeline a, b;
  const auto good = std::make_shared<Outcome>(), bad = std::make_shared<Outcome>(),
             worse = std::make_shared<Outcome>();
  bad->status = absl::InternalError("first");
  worse->status = absl::InternalError("second");
  int calls = 0;
  absl::Status seen;
  WhenPassed({{{{&a, 1}, good}, {{&b, 1}, bad}, {{}, worse}}}, [&](absl::Status status) {
    ++calls;
    seen = std::move(status);
  });
  b.Signal(1);
  EXPECT_EQ(calls, 0);
  a.Signal(1);
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(seen, StatusIs(absl::StatusCode::kInternal, HasSubstr("first")));
  WhenPassed({}, [&](const absl::Status& status) {
    ++calls;
    KILN_EXPECT_OK(status);
  });
  EXPECT_EQ(calls, 2);
}

TEST(HostPoints, AreTakenAgainOnceTheyHavePassed) {
  HostPoints points;
  const Point a = points.Take(), b = points.Take();
  EXPECT_NE(a.timeline, b.timeline);
  points.Pass(a);
  EXPECT_TRUE(a.passed());
  const Point c = points.Take();
  EXPECT_EQ(c.timeline, a.timeline);
  EXPECT_FALSE(c.passed());
  EXPECT_FALSE(b.passed());
  points.Pass(b);
  points.Pass(c);
}

}  // namespace
}  // namespace kiln::runtime
