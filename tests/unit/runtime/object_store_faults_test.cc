// Compiled kernels on disk where the disk is full, can't be written, or holds what nobody stored, and
// after processes that were killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

#include "backends/cpu/cpu.h"
#include "core/runtime/engine.h"
#include "core/runtime/object_store.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/runtime/engine_testing.h"
#include "tests/unit/runtime/hardship.h"
#include "tests/unit/runtime/temp_folder.h"

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;
using support::IsOkAndHolds;
using testing::ElementsAre;
using testing::IsEmpty;

class ObjectStoreFaultsTest : public testing::Test {
 protected:
  std::unique_ptr<ObjectStore> Open() {
    auto store = ObjectStore::Open({.folder = path_});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  std::vector<fs::path> Files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) files.push_back(entry.path());
    return files;
  }

  TempFolder folder_;
  const std::string path_ = folder_.path() + "/cache";
  const Digest key_ = DigestOf("a kernel");
};

TEST_F(ObjectStoreFaultsTest, WhereverTheDiskIsFullNothingIsLeftAndTheOldFileStays) {
  const auto store = Open();
  store->Store(key_, "the old");
  const uintmax_t old_bytes = fs::file_size(Files().at(0));
  const std::string contents(300, 'x');
  const uintmax_t bytes = old_bytes + contents.size() - std::string_view("the old").size();
  for (uintmax_t room = 0; room < bytes; ++room) {
    {
      const FileSizeLimit full(room);
      store->Store(key_, contents);
      store->Store(DigestOf("another"), contents);
    }
    ASSERT_EQ(Files().size(), 1) << room;
    ASSERT_EQ(store->Find(key_), "the old") << room;
  }
  EXPECT_EQ(store->counters().failed_stores, static_cast<int64_t>(2 * bytes));
  const FileSizeLimit enough(bytes);
  store->Store(key_, contents);
  EXPECT_EQ(store->Find(key_), contents);
}

TEST_F(ObjectStoreFaultsTest, AReadOnlyFolderIsReadFrom) {
  Open()->Store(key_, "code");
  const ReadOnlyFolder read_only(path_);
  const auto store = Open();
  EXPECT_EQ(store->Find(key_), "code");
  store->Store(DigestOf("another"), "code");
  EXPECT_EQ(store->counters().failed_stores, 1);
  EXPECT_EQ(store->Find(DigestOf("another")), std::nullopt);
}

TEST_F(ObjectStoreFaultsTest, WhatIsNoFileIsNotWaitedForNorFollowed) {
  const auto store = Open();
  store->Store(key_, "code");
  const fs::path file = Files().at(0);
  fs::rename(file, folder_.path() + "/elsewhere");
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(store->Find(key_), std::nullopt);
  store->Store(key_, "code");  // Takes its place.
  EXPECT_EQ(store->Find(key_), "code");
  fs::remove(file);
  fs::create_symlink(folder_.path() + "/elsewhere", file);
  EXPECT_EQ(store->Find(key_), std::nullopt);
  store->Store(key_, "code");
  EXPECT_EQ(store->Find(key_), "code");
}

TEST_F(ObjectStoreFaultsTest, AFileLargerThanMemoryIsNotRead) {
  const auto store = Open();
  store->Store(key_, "code");
  const fs::path file = Files().at(0);
  std::error_code refused;
  fs::resize_file(file, uintmax_t{1} << 42, refused);
  if (refused) GTEST_SKIP() << "no file of 4 TB here: " << refused.message();
  EXPECT_EQ(store->Find(key_), std::nullopt);
  EXPECT_EQ(store->counters().damaged, 1);
  EXPECT_FALSE(fs::exists(file));
}

// A process that stores larger and smaller objects until it is killed, which happens wherever it
// happens to be.
TEST_F(ObjectStoreFaultsTest, AKilledProcessLeavesNoHalfFile) {
  constexpr int kMaxRounds = 200, kEnough = 5;
  const auto contents = [](int i) {
    return std::string(1000 + 60000 * (i % 7), static_cast<char>('a' + i));
  };
  const auto key = [](int i) { return DigestOf(absl::StrCat("kernel ", i)); };
  support::Random random(7);
  int half = 0;
  for (int round = 0; round < kMaxRounds && half < kEnough; ++round) {
    fs::remove_all(path_);
    const auto store = Open();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; i = (i + 1) % 20) store->Store(key(i), contents(i));
    }
    while (fs::is_empty(path_)) usleep(50);
    usleep(static_cast<useconds_t>(random.Uniform(0, 1000)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (const fs::path& file : Files()) half += file.extension() == ".tmp";
    for (int i = 0; i < 20; ++i) {
      const auto found = store->Find(key(i));
      if (found.has_value()) {
        EXPECT_EQ(*found, contents(i)) << i;
      }
      store->Store(key(i), contents(i));
      EXPECT_EQ(store->Find(key(i)), contents(i)) << i;
    }
    EXPECT_EQ(store->counters().damaged, 0);
    EXPECT_EQ(store->counters().failed_stores, 0);
  }
  EXPECT_GT(half, 0) << "no process was killed while it wrote: nothing was tested";
}

// ** with an engine **

class EngineFaultsTest : public ObjectStoreFaultsTest {
 protected:
  EngineFaultsTest() { KILN_EXPECT_OK(cpu::RegisterCpuBackend(registry_, {})); }

  // What an engine that has seen nothing yet makes of [1 2 3 4]: its counters.
  Engine::Counters RunsRight(float add) {
    auto engine = Engine::Create(registry_, {.cache_folder = path_});
    EXPECT_TRUE(engine.ok()) << engine.status();
    const auto x = Upload<float>(**engine, {1, 2, 3, 4}, "cpu:0");
    const std::vector<Binding> inputs = {{0, x}};
    const auto run = (*engine)->Run(AddGraph(add), {.inputs = inputs, .variables = {}});
    EXPECT_TRUE(run.ok()) << run.status();
    EXPECT_THAT(Read<float>(**engine, run->outputs.at(0)),
                IsOkAndHolds(ElementsAre(1 + add, 2 + add, 3 + add, 4 + add)));
    return (*engine)->counters();
  }

  Registry registry_;
};

TEST_F(EngineFaultsTest, RunsOnAFullDisk) {
  for (const rlim_t room : {0, 1, 100}) {
    const FileSizeLimit full(room);
    const Engine::Counters counters = RunsRight(10);
    EXPECT_EQ(counters.kernels.compiled, 1);
    EXPECT_EQ(counters.store.failed_stores, 1);
    EXPECT_THAT(Files(), IsEmpty());
  }
  EXPECT_EQ(RunsRight(10).store.stored, 1);
  EXPECT_EQ(RunsRight(10).kernels.compiled, 0);
}

TEST_F(EngineFaultsTest, RunsOnAReadOnlyFolder) {
  EXPECT_EQ(RunsRight(10).store.stored, 1);
  const ReadOnlyFolder read_only(path_);
  EXPECT_EQ(RunsRight(10).kernels.compiled, 0);
  const Engine::Counters counters = RunsRight(20);
  EXPECT_EQ(counters.kernels.compiled, 1);
  EXPECT_EQ(counters.store.failed_stores, 1);
}

TEST_F(EngineFaultsTest, AFileWithTheRightDigestButTheWrongCodeIsReplaced) {
  EXPECT_EQ(RunsRight(10).store.stored, 1);
  const std::string name = Files().at(0).stem().string();
  {
    // As if the kernel had been stored by a compiler that takes itself for ours.
    const auto store = Open();
    Digest key;
    for (size_t i = 0; i < key.bytes.size(); ++i) {
      key.bytes[i] = static_cast<uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
    }
    ASSERT_EQ(key.ToHex(), name);
    ASSERT_TRUE(store->Find(key).has_value());
    store->Store(key, "not a kernel");
  }
  EXPECT_EQ(RunsRight(10).kernels.compiled, 1);
  EXPECT_EQ(RunsRight(10).kernels.compiled, 0);
}

}  // namespace
}  // namespace kiln::runtime
