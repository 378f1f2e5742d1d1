#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/runtime/host_scheduler.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/fake_device.h"

namespace kiln::runtime {
namespace {

using support::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

class HostQueueTest : public testing::Test {
 protected:
  std::shared_ptr<CommandList> List(int64_t value) {
    auto list = std::make_shared<CommandList>();
    list->Exec(*kernel_, {}, {value});
    return list;
  }
  Dependency Submit(Queue& queue, std::shared_ptr<CommandList> list,
                    absl::Span<const Dependency> wait = {}) {
    auto outcome = std::make_shared<Outcome>();
    const Point point = queue.Submit(wait, std::move(list), outcome);
    return {point, outcome};
  }
  Queue& queue() { return device_.queue(QueueKind::kCompute); }

  FakeDevice device_{"fake:0"};
  FakeDevice other_{"fake:1"};
  const std::shared_ptr<const Executable> kernel_ = FakeDevice::Kernel("k", 0, 1);
};

TEST_F(HostQueueTest, RunsListsInOrder) {
  Dependency last;
  for (int64_t i = 0; i < 100; ++i) last = Submit(queue(), List(i));
  EXPECT_EQ(last.point.value, 100);
  EXPECT_TRUE(Await(last).ok());
  EXPECT_EQ(device_.num_runs(), 100);
  const std::vector<int64_t> values = device_.values();
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
}

TEST_F(HostQueueTest, WaitsForAnotherQueue) {
  HostTimeline gate;
  const Dependency first =
      Submit(other_.queue(QueueKind::kCompute), List(1), {{{{&gate, 1}, nullptr}}});
  const Dependency second = Submit(queue(), List(2), {{first}});
  EXPECT_THAT(Await(second, absl::Now() + absl::Milliseconds(5)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(device_.num_runs(), 0);
  gate.Signal(1);
  EXPECT_TRUE(Await(second).ok());
  EXPECT_EQ(device_.num_runs(), 1);
}

TEST_F(HostQueueTest, AFailureNamesTheKernelAndSkipsTheRest) {
  device_.FailOn(1);
  HostTimeline signalled;
  auto list = List(1);
  list->Exec(*kernel_, {}, {2});
  list->Signal({&signalled, 5});
  const Dependency done = Submit(queue(), list);
  EXPECT_THAT(Await(done), StatusIs(absl::StatusCode::kInternal, HasSubstr("kernel \"k\"")));
  EXPECT_THAT(device_.values(), ElementsAre(1));
  EXPECT_EQ(signalled.value(), 5);
}

TEST_F(HostQueueTest, AFailureIsPassedOnToWhatDependsOnIt) {
  device_.FailOn(1);
  const Dependency failed = Submit(queue(), List(1));
  const Dependency poisoned = Submit(queue(), List(2), {{failed}});
  const Dependency ordered = Submit(queue(), List(3), {{{failed.point, nullptr}}});
  EXPECT_FALSE(Await(poisoned).ok());
  EXPECT_TRUE(Await(ordered).ok());
  EXPECT_THAT(device_.values(), ElementsAre(1, 3));
}

TEST_F(HostQueueTest, CopiesWaitsSignalsAndTimestamps) {
  const auto a = *device_.memory().Allocate(256, BufferUse::kDevice);
  const auto b = *device_.memory().Allocate(256, BufferUse::kDevice);
  for (int i = 0; i < 256; ++i) a->host()[i] = std::byte(i);
  HostTimeline gate, signalled;
  auto list = std::make_shared<CommandList>();
  list->Timestamp();
  list->Wait({&gate, 3});
  list->Copy({b.get(), 0, 128}, {a.get(), 64, 64});
  list->Signal({&signalled, 1});
  list->Timestamp();
  const Dependency done = Submit(queue(), list);
  gate.Signal(3);
  EXPECT_TRUE(signalled.Wait(1).ok());
  EXPECT_EQ(b->host()[0], std::byte(64));
  EXPECT_EQ(b->host()[63], std::byte(127));
  EXPECT_TRUE(Await(done).ok());
  EXPECT_GT(list->timestamps_ns()[0], 0);
  EXPECT_GE(list->timestamps_ns()[1], list->timestamps_ns()[0]);
}

TEST_F(HostQueueTest, DropsWhatIsRetainedWhenItHasRun) {
  auto object = std::make_shared<int>(1);
  auto list = List(1);
  list->Retain(object);
  EXPECT_EQ(object.use_count(), 2);
  EXPECT_TRUE(Await(Submit(queue(), list)).ok());
  EXPECT_EQ(object.use_count(), 1);
}

TEST_F(HostQueueTest, ListsRunAgainAfterAPatch) {
  auto list = List(1);
  EXPECT_TRUE(Await(Submit(queue(), list)).ok());
  list->SetVariable(0, 2);
  EXPECT_TRUE(Await(Submit(queue(), list)).ok());
  EXPECT_THAT(device_.values(), ElementsAre(1, 2));
}

TEST_F(HostQueueTest, DestructionRunsWhatIsQueued) {
  auto device = std::make_unique<FakeDevice>("fake:2");
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 50; ++i) {
    outcomes.push_back(std::make_shared<Outcome>());
    device->queue(QueueKind::kCompute).Submit({}, List(i), outcomes.back());
  }
  auto runs = device->counter();
  device = nullptr;
  EXPECT_EQ(*runs, 50);
}

TEST(HostTimeline, WakesAllWhoWait) {
  HostTimeline timeline;
  std::atomic<int> woken = 0;
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i <= 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(timeline.Wait(i).ok());
      ++woken;
    });
  }
  for (uint64_t i = 1; i <= 8; ++i) timeline.Signal(i);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(woken, 8);
  timeline.Signal(3);
  EXPECT_EQ(timeline.value(), 8);
}

TEST(Hazards, ReadsAndWritesOrderEachOther) {
  HostTimeline timeline;
  Hazards hazards;
  std::vector<Dependency> wait;
  hazards.AppendBeforeRead(wait);
  hazards.AppendBeforeWrite(wait);
  EXPECT_TRUE(wait.empty());
  hazards.SetWrite({{&timeline, 1}, std::make_shared<Outcome>()});
  hazards.AddRead({&timeline, 2});
  hazards.AddRead({&timeline, 3});
  hazards.AppendBeforeRead(wait);
  ASSERT_EQ(wait.size(), 1);
  EXPECT_EQ(wait[0].point.value, 1);
  wait.clear();
  hazards.AppendBeforeWrite(wait);
  ASSERT_EQ(wait.size(), 2);
  EXPECT_EQ(wait[1].point.value, 3);
  timeline.Signal(3);
  wait.clear();
  hazards.AppendBeforeRead(wait);
  hazards.AppendBeforeWrite(wait);
  EXPECT_TRUE(wait.empty());
}

TEST(Hazards, AFailedWritePoisonsReadersUntilTheNextWrite) {
  HostTimeline timeline;
  Hazards hazards;
  auto outcome = std::make_shared<Outcome>();
  outcome->status = absl::InternalError("broken");
  hazards.SetWrite({{&timeline, 1}, outcome});
  timeline.Signal(1);
  std::vector<Dependency> wait;
  hazards.AppendBeforeRead(wait);
  ASSERT_EQ(wait.size(), 1);
  EXPECT_FALSE(hazards.AwaitReadable().ok());
  hazards.SetWrite({});
  EXPECT_TRUE(hazards.AwaitReadable().ok());
}

}  // namespace
}  // namespace kiln::runtime
