#include "core/runtime/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/temp_folder.h"

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;
using support::StatusIs;

class ObjectStoreTest : public testing::Test {
 protected:
  std::unique_ptr<ObjectStore> Open(int64_t max_bytes = 1 << 20) {
    auto store = ObjectStore::Open({.folder = folder_.path() + "/cache", .max_bytes = max_bytes});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  std::vector<fs::path> Files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_.path() + "/cache")) {
      files.push_back(entry.path());
    }
    return files;
  }

  TempFolder folder_;
  const Digest key_ = DigestOf("a kernel");
};

TEST_F(ObjectStoreTest, FindsWhatWasStored) {
  const auto store = Open();
  EXPECT_EQ(store->Find(key_), std::nullopt);
  store->Store(key_, "code");
  EXPECT_EQ(store->Find(key_), "code");
  EXPECT_EQ(store->Find(DigestOf("another")), std::nullopt);
  EXPECT_EQ(store->counters().hits, 1);
  EXPECT_EQ(store->counters().misses, 2);
}

TEST_F(ObjectStoreTest, IsSharedByThoseWhoOpenTheFolder) {
  const auto one = Open(), two = Open();
  one->Store(key_, "code");
  EXPECT_EQ(two->Find(key_), "code");
  two->Store(key_, "newer");
  EXPECT_EQ(one->Find(key_), "newer");
}

TEST_F(ObjectStoreTest, EveryTruncationIsNoticedAndRemoved) {
  const auto store = Open();
  store->Store(key_, "code");
  const fs::path file = Files().at(0);
  const auto size = fs::file_size(file);
  for (uintmax_t keep = 0; keep < size; ++keep) {
    store->Store(key_, "code");
    fs::resize_file(file, keep);
    EXPECT_EQ(store->Find(key_), std::nullopt) << keep;
    EXPECT_FALSE(fs::exists(file));
  }
  EXPECT_EQ(store->counters().damaged, static_cast<int64_t>(size));
}

TEST_F(ObjectStoreTest, EveryAlteredByteIsNoticed) {
  const auto store = Open();
  store->Store(key_, "code");
  const fs::path file = Files().at(0);
  const auto size = fs::file_size(file);
  for (uintmax_t at = 0; at <= size; ++at) {  // At the end: one more byte.
    store->Store(key_, "code");
    {
      std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
      f.seekg(static_cast<std::streamoff>(at));
      const int byte = f.get();
      f.clear();
      f.seekp(static_cast<std::streamoff>(at));
      f.put(static_cast<char>(byte ^ 0x10));
    }
    EXPECT_EQ(store->Find(key_), std::nullopt) << at;
  }
}

TEST_F(ObjectStoreTest, AFileUnderTheWrongNameIsNotBelieved) {
  const auto store = Open();
  store->Store(key_, "code");
  const Digest other = DigestOf("another");
  fs::rename(Files().at(0), folder_.path() + "/cache/" + other.ToHex() + ".kilnobj");
  EXPECT_EQ(store->Find(other), std::nullopt);
}

TEST_F(ObjectStoreTest, IsBoundedAndEvictsTheLeastRecentlyUsed) {
  const std::string kilobyte(1024, 'x');
  const auto store = Open(10 * 1200);
  for (int i = 0; i < 9; ++i) {
    store->Store(DigestOf(std::to_string(i)), kilobyte);
    usleep(2000);  // So that their times differ.
  }
  EXPECT_EQ(store->Find(DigestOf("0")), kilobyte);
  for (int i = 9; i < 14; ++i) store->Store(DigestOf(std::to_string(i)), kilobyte);
  int64_t bytes = 0;
  for (const fs::path& f : Files()) bytes += static_cast<int64_t>(fs::file_size(f));
  EXPECT_LE(bytes, 10 * 1200);
  EXPECT_GT(store->counters().evicted, 0);
  EXPECT_EQ(store->Find(DigestOf("0")), kilobyte);  // Was used.
  EXPECT_EQ(store->Find(DigestOf("1")), std::nullopt);
  EXPECT_EQ(store->Find(DigestOf("13")), kilobyte);
}

TEST_F(ObjectStoreTest, WhatOthersLeftCountsAndIsEvicted) {
  const std::string kilobyte(1024, 'x');
  {
    const auto store = Open();
    for (int i = 0; i < 20; ++i) store->Store(DigestOf(std::to_string(i)), kilobyte);
  }
  const auto store = Open(5000);
  EXPECT_LE(Files().size(), 4);
}

TEST_F(ObjectStoreTest, AbandonedTemporaryFilesGo) {
  Open();
  const std::string old = folder_.path() + "/cache/abc.1.1.tmp",
                    young = folder_.path() + "/cache/abc.2.1.tmp";
  std::ofstream(old) << "half";
  std::ofstream(young) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  Open();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(ObjectStoreTest, FoldersThatCantBeUsedAreRefused) {
  std::ofstream(folder_.path() + "/file") << "x";
  const auto status = [](const std::string& folder) {
    return ObjectStore::Open({.folder = folder}).status();
  };
  EXPECT_THAT(status(""), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(status(folder_.path() + "/file"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(status(folder_.path() + "/file/x"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(status("/proc/kiln/cache"), StatusIs(absl::StatusCode::kFailedPrecondition));
  const std::string open_to_all = folder_.path() + "/open";
  fs::create_directory(open_to_all);
  ASSERT_EQ(chmod(open_to_all.c_str(), 0777), 0);
  EXPECT_THAT(status(open_to_all), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ObjectStoreTest, AFolderThatWentAwayIsNoError) {
  const auto store = Open();
  fs::remove_all(folder_.path() + "/cache");
  store->Store(key_, "code");
  EXPECT_EQ(store->Find(key_), std::nullopt);
  EXPECT_EQ(store->counters().failed_stores, 1);
}

TEST_F(ObjectStoreTest, ReadersSeeAllOrNothingWhileOthersWrite) {
  const std::string contents(100000, 'c');
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto store = Open();
      for (int i = 0; i < 30; ++i) {
        if (t % 2 == 0) {
          store->Store(key_, contents);
        } else if (const auto found = store->Find(key_)) {
          EXPECT_EQ(*found, contents);
        }
      }
      EXPECT_EQ(store->counters().damaged, 0);
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace kiln::runtime
