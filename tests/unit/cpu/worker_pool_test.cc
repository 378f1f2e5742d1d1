#include "backends/cpu/worker_pool.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace kiln::cpu {
namespace {

TEST(WorkerPool, EveryIndexRunsOnce) {
  for (const int helpers : {0, 1, 3}) {
    WorkerPool pool(helpers, nullptr);
    for (const int n : {0, 1, 2, 3, 17, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        const auto counts = std::make_unique<std::atomic<int>[]>(static_cast<size_t>(n) + 1);
        pool.Run(n, [&](int i) { ++counts[static_cast<size_t>(i)]; });
        for (int i = 0; i < n; ++i)
          ASSERT_EQ(counts[static_cast<size_t>(i)], 1) << helpers << " " << n;
      }
    }
  }
}

// What a run wrote is visible to the next one, whichever thread has it.
TEST(WorkerPool, RunsFollowEachOther) {
  WorkerPool pool(2, nullptr);
  std::vector<int64_t> values(64, 1);
  for (int run = 0; run < 2000; ++run) {
    std::vector<int64_t> next(64);
    pool.Run(64, [&](int i) {
      next[static_cast<size_t>(i)] = values[static_cast<size_t>((i + 1) % 64)] + 1;
    });
    values = std::move(next);
  }
  for (const int64_t v : values) EXPECT_EQ(v, 2001);
}

// Helpers that block are woken up again, or not needed.
TEST(WorkerPool, RunsAfterAPause) {
  WorkerPool pool(1, nullptr);
  std::atomic<int> count = 0;
  for (int i = 0; i < 20; ++i) {
    pool.Run(8, [&](int) { ++count; });
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(300 * (i % 3));
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  EXPECT_EQ(count, 160);
}

TEST(WorkerPool, HelpersStartWithTheirNumber) {
  std::atomic<int> numbers = 0;
  {
    WorkerPool pool(3, [&](int i) { numbers += 1 << i; });
  }
  EXPECT_EQ(numbers, 7);
}

}  // namespace
}  // namespace kiln::cpu
