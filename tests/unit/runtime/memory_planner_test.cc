#include "core/runtime/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kiln::runtime {
namespace {

constexpr int64_t kAlignment = 64;

// Checks what every plan must satisfy.
void ExpectValid(absl::Span<const LiveRange> ranges, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t begin = plan.offsets[i], end = begin + ranges[i].bytes;
    EXPECT_GE(begin, 0);
    EXPECT_EQ(begin % kAlignment, 0);
    EXPECT_LE(end, plan.bytes);
    if (ranges[i].bytes == 0) continue;
    for (size_t j = 0; j < i; ++j) {
      const bool same_time = ranges[i].begin <= ranges[j].end && ranges[j].begin <= ranges[i].end;
      const bool same_place =
          begin < plan.offsets[j] + ranges[j].bytes && plan.offsets[j] < end && ranges[j].bytes > 0;
      EXPECT_FALSE(same_time && same_place) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.bytes, LowerBoundBytes(ranges, kAlignment));
}

std::vector<LiveRange> RandomRanges(std::mt19937_64& random, int n, int steps, int longest) {
  std::vector<LiveRange> ranges;
  for (int i = 0; i < n; ++i) {
    const auto begin = static_cast<int32_t>(random() % static_cast<uint64_t>(steps));
    const auto length = static_cast<int32_t>(random() % static_cast<uint64_t>(longest));
    const auto bytes = static_cast<int64_t>(random() % 4 == 0 ? random() % 100 : random() % 100000);
    ranges.push_back({bytes, begin, begin + length});
  }
  return ranges;
}

TEST(MemoryPlanner, NothingNeedsNothing) {
  EXPECT_EQ(PlanMemory({}, kAlignment).bytes, 0);
  const MemoryPlan plan = PlanMemory({{{0, 0, 5}}}, kAlignment);
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_THAT(plan.offsets, testing::ElementsAre(0));
}

TEST(MemoryPlanner, SharesMemoryOfRangesThatDontMeet) {
  const MemoryPlan plan = PlanMemory({{{100, 0, 1}, {100, 2, 3}, {64, 4, 9}}}, kAlignment);
  EXPECT_EQ(plan.bytes, 128);
}

TEST(MemoryPlanner, AStepReadsOneRangeAndWritesAnother) {
  const MemoryPlan plan = PlanMemory({{{64, 0, 1}, {64, 1, 2}}}, kAlignment);
  EXPECT_EQ(plan.bytes, 128);
}

TEST(MemoryPlanner, AChainOfEqualSizesNeedsTwo) {
  std::vector<LiveRange> ranges;
  for (int32_t i = 0; i < 100; ++i) ranges.push_back({4096, i, i + 1});
  const MemoryPlan plan = PlanMemory(ranges, kAlignment);
  ExpectValid(ranges, plan);
  EXPECT_EQ(plan.bytes, 2 * 4096);
}

TEST(MemoryPlanner, RandomRangesDontOverlapAndAreNearTheLowerBound) {
  std::mt19937_64 random(1);
  double worst = 1, sum = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    const int n = 1 + static_cast<int>(random() % 100);
    const std::vector<LiveRange> ranges =
        RandomRanges(random, n, 1 + static_cast<int>(random() % 100), 1 + run % 20);
    const MemoryPlan plan = PlanMemory(ranges, kAlignment);
    ExpectValid(ranges, plan);
    const int64_t bound = LowerBoundBytes(ranges, kAlignment);
    if (bound == 0) continue;
    const double ratio = static_cast<double>(plan.bytes) / static_cast<double>(bound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 1.5);
  EXPECT_LT(sum / kRuns, 1.08);
}

TEST(MemoryPlanner, ManyRangesAreValidToo) {
  std::mt19937_64 random(2);
  const std::vector<LiveRange> ranges = RandomRanges(random, 5000, 3000, 10);
  const MemoryPlan plan = PlanMemory(ranges, kAlignment);
  ExpectValid(ranges, plan);
  EXPECT_LT(static_cast<double>(plan.bytes),
            1.5 * static_cast<double>(LowerBoundBytes(ranges, kAlignment)));
}

TEST(MemoryPlanner, SamePlanForSameRanges) {
  std::mt19937_64 random(3);
  const std::vector<LiveRange> ranges = RandomRanges(random, 300, 200, 30);
  EXPECT_EQ(PlanMemory(ranges, kAlignment).offsets, PlanMemory(ranges, kAlignment).offsets);
}

}  // namespace
}  // namespace kiln::runtime
