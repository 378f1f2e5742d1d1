#include "core/runtime/single_flight_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/status_matchers.h"

namespace kiln::runtime {
namespace {

using Cache = SingleFlightCache<int, std::shared_ptr<const int>>;

absl::StatusOr<std::shared_ptr<const int>> Value(int v) { return std::make_shared<const int>(v); }

TEST(SingleFlightCache, SixtyFourThreadsMakeOneValue) {
  Cache cache(8);
  std::atomic<int> made = 0, waiting = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      ++waiting;
      const auto value = cache.Get(7, [&] {
        while (waiting < 64) std::this_thread::yield();
        return Value(++made);
      });
      ASSERT_TRUE(value.ok());
      EXPECT_EQ(**value, 1);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(made, 1);
}

TEST(SingleFlightCache, AFailureIsToldToAllAndForgotten) {
  Cache cache(8);
  std::atomic<int> made = 0, waiting = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ++waiting;
      const auto value = cache.Get(7, [&]() -> absl::StatusOr<std::shared_ptr<const int>> {
        while (waiting < 8) std::this_thread::yield();
        ++made;
        return absl::UnimplementedError("no");
      });
      EXPECT_FALSE(value.ok());
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(cache.size(), 0);
  EXPECT_TRUE(cache.Get(7, [] { return Value(1); }).ok());
}

TEST(SingleFlightCache, EvictsTheLeastRecentlyUsed) {
  Cache cache(3);
  int made = 0;
  const auto get = [&](int key) {
    return **cache.Get(key, [&] {
      ++made;
      return Value(key);
    });
  };
  get(1);
  get(2);
  get(3);
  get(1);
  get(4);  // Evicts 2.
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(made, 4);
  get(1);
  get(3);
  EXPECT_EQ(made, 4);
  get(2);
  EXPECT_EQ(made, 5);
}

TEST(SingleFlightCache, UsersKeepWhatIsEvicted) {
  Cache cache(1);
  const auto value = *cache.Get(1, [] { return Value(11); });
  cache.Get(2, [] { return Value(22); }).status().IgnoreError();
  EXPECT_EQ(*value, 11);
}

TEST(SingleFlightCache, WhatIsBeingMadeIsNotEvicted) {
  Cache cache(1);
  int made = 0;
  const auto outer = cache.Get(1, [&] {
    for (int key = 2; key < 6; ++key) {
      std::thread([&, key] {
        cache.Get(key, [&] { return Value(key); }).status().IgnoreError();
      }).join();
    }
    return Value(++made);
  });
  ASSERT_TRUE(outer.ok());
  EXPECT_EQ(**cache.Get(1, [&] { return Value(++made); }), 1);
}

}  // namespace
}  // namespace kiln::runtime
