#include "server/blobs/blob_store.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/blobs/sha256.h"
#include "tests/support/status_matchers.h"

namespace kiln::server {
namespace {

namespace fs = std::filesystem;
using kiln::support::IsOk;
using kiln::support::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::Not;
using Code = absl::StatusCode;

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string HashOf(const std::string& text) {
  Sha256 hash;
  hash.Update(Bytes(text));
  return hash.Finish();
}

std::string Content(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string content(size, '\0');
  for (char& c : content) c = static_cast<char>(random());
  return content;
}

class BlobStoreTest : public ::testing::Test {
 protected:
  BlobStoreTest() {
    std::string name = (fs::temp_directory_path() / "kiln-blobs-XXXXXX").string();
    root_ = mkdtemp(name.data());
    options_.folder = root_ + "/blobs";
  }
  ~BlobStoreTest() override {
    store_.reset();
    fs::remove_all(root_);
  }

  void Start() {
    store_.reset();
    auto store = BlobStore::Create(options_);
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }
  absl::StatusOr<std::unique_ptr<BlobUpload>> Begin(const std::string& content, uint64_t offset = 0,
                                                    const std::string& principal = "") {
    return store_->BeginUpload(principal, HashOf(content), content.size(), offset);
  }
  static absl::Status Write(BlobUpload& upload, uint64_t offset, const std::string& bytes) {
    const auto all = Bytes(bytes);
    return upload.Write(offset, {all.first(bytes.size() / 3), all.subspan(bytes.size() / 3)});
  }
  absl::Status Put(const std::string& content, const std::string& principal = "") {
    KILN_ASSIGN_OR_RETURN(const auto upload, Begin(content, 0, principal));
    if (upload == nullptr) return absl::OkStatus();
    KILN_RETURN_IF_ERROR(Write(*upload, 0, content));
    return upload->Finish();
  }
  absl::StatusOr<std::string> Get(const std::string& hash, const std::string& principal = "") {
    KILN_ASSIGN_OR_RETURN(const auto blob, store_->Open(principal, hash));
    std::string content(static_cast<size_t>(blob->size()), '\0');
    KILN_RETURN_IF_ERROR(
        blob->ReadAt(0, {reinterpret_cast<std::byte*>(content.data()), content.size()}));
    return content;
  }
  BlobStore::State Find(const std::string& content, const std::string& principal = "") {
    return *store_->Find(principal, HashOf(content));
  }
  // The files of blobs and uploads.
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(options_.folder)) {
      if (entry.is_regular_file() && entry.path().filename() != "lock")
        files.push_back(entry.path());
    }
    return files;
  }

  std::string root_;
  BlobStore::Options options_{.max_blob_bytes = 1 << 20, .max_principal_bytes = 1 << 20};
  std::unique_ptr<BlobStore> store_;
};

TEST_F(BlobStoreTest, KeepsWhatIsPut) {
  Start();
  const std::string content = Content(100'000);
  EXPECT_THAT(Get(HashOf(content)), StatusIs(Code::kNotFound, HasSubstr("is not there")));
  ASSERT_THAT(Put(content), IsOk());
  EXPECT_TRUE(Find(content).is_complete);
  EXPECT_EQ(*Get(HashOf(content)), content);
  // The second time nothing has to be sent.
  const auto again = Begin(content);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(*again, IsNull());
  EXPECT_EQ(Files().size(), 1);
}

TEST_F(BlobStoreTest, ReadsParts) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content), IsOk());
  const auto blob = *store_->Open("", HashOf(content));
  std::string part(10, '\0');
  const absl::Span<std::byte> to(reinterpret_cast<std::byte*>(part.data()), part.size());
  ASSERT_THAT(blob->ReadAt(990, to), IsOk());
  EXPECT_EQ(part, content.substr(990));
  EXPECT_THAT(blob->ReadAt(991, to), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(blob->ReadAt(-1, to), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(blob->ReadAt(INT64_MAX, to), StatusIs(Code::kInvalidArgument));
}

TEST_F(BlobStoreTest, EmptyContent) {
  Start();
  ASSERT_THAT(Put(""), IsOk());
  EXPECT_EQ(*Get(HashOf("")), "");
}

TEST_F(BlobStoreTest, OtherBytesAreRefusedAndDropped) {
  Start();
  const std::string content = Content(1000);
  auto upload = *Begin(content);
  ASSERT_THAT(Write(*upload, 0, Content(1000, 2)), IsOk());
  EXPECT_THAT(upload->Finish(), StatusIs(Code::kInvalidArgument, HasSubstr("sha256: ")));
  upload.reset();
  EXPECT_FALSE(Find(content).is_complete);
  EXPECT_EQ(Find(content).received, 0);
  EXPECT_TRUE(Files().empty());
  EXPECT_THAT(Put(content), IsOk());
}

TEST_F(BlobStoreTest, ChunksMustFollowEachOther) {
  Start();
  const std::string content = Content(1000);
  const auto upload = *Begin(content);
  ASSERT_THAT(Write(*upload, 0, content.substr(0, 100)), IsOk());
  EXPECT_THAT(Write(*upload, 101, "x"),
              StatusIs(Code::kInvalidArgument, HasSubstr("leaves a gap")));
  EXPECT_THAT(Write(*upload, 99, "x"), StatusIs(Code::kInvalidArgument, HasSubstr("goes back")));
  EXPECT_THAT(Write(*upload, 100, Content(901)),
              StatusIs(Code::kInvalidArgument, HasSubstr("is too long")));
  EXPECT_THAT(upload->Finish(), StatusIs(Code::kInvalidArgument, HasSubstr("100 of 1000")));
  EXPECT_THAT(Write(*upload, 100, content.substr(100)), IsOk());
  EXPECT_THAT(upload->Finish(), IsOk());
}

TEST_F(BlobStoreTest, AnUploadGoesOn) {
  Start();
  const std::string content = Content(1000);
  {
    ASSERT_THAT(Write(**Begin(content), 0, content.substr(0, 400)), IsOk());
  }
  EXPECT_EQ(Find(content).received, 400);
  EXPECT_THAT(Begin(content, 401), StatusIs(Code::kInvalidArgument, HasSubstr("beyond the 400")));
  // Further back is fine, too.
  const auto upload = *Begin(content, 300);
  ASSERT_THAT(Write(*upload, 300, content.substr(300)), IsOk());
  ASSERT_THAT(upload->Finish(), IsOk());
  EXPECT_EQ(*Get(HashOf(content)), content);
}

TEST_F(BlobStoreTest, AnUploadGoesOnAfterARestart) {
  Start();
  const std::string content = Content(1000);
  {
    ASSERT_THAT(Write(**Begin(content), 0, content.substr(0, 400)), IsOk());
  }
  Start();
  EXPECT_EQ(Find(content).received, 400);
  const auto upload = *Begin(content, 400);
  ASSERT_THAT(Write(*upload, 400, content.substr(400)), IsOk());
  ASSERT_THAT(upload->Finish(), IsOk());
  EXPECT_EQ(*Get(HashOf(content)), content);
}

TEST_F(BlobStoreTest, ANewerUploadTakesOver) {
  Start();
  const std::string content = Content(1000);
  auto older = *Begin(content);
  ASSERT_THAT(Write(*older, 0, content.substr(0, 400)), IsOk());
  auto newer = *Begin(content, 400);
  EXPECT_THAT(Write(*older, 400, content.substr(400)), StatusIs(Code::kAborted));
  EXPECT_THAT(older->Finish(), StatusIs(Code::kAborted));
  older.reset();
  ASSERT_THAT(Write(*newer, 400, content.substr(400)), IsOk());
  ASSERT_THAT(newer->Finish(), IsOk());
  EXPECT_EQ(*Get(HashOf(content)), content);
}

// Two uploads that say different sizes share no file: neither can spoil what the other has hashed.
TEST_F(BlobStoreTest, AnotherSizeIsAnotherUpload) {
  Start();
  const std::string content = Content(1000);
  auto liar = *store_->BeginUpload("", HashOf(content), 2000, 0);
  ASSERT_THAT(Write(*liar, 0, Content(10, 3)), IsOk());
  auto upload = *Begin(content);
  ASSERT_THAT(Write(*upload, 0, content), IsOk());
  ASSERT_THAT(Write(*liar, 10, Content(500, 4)), IsOk());
  ASSERT_THAT(upload->Finish(), IsOk());
  EXPECT_EQ(*Get(HashOf(content)), content);
  ASSERT_THAT(Write(*liar, 510, Content(1490, 5)), IsOk());
  EXPECT_THAT(liar->Finish(), Not(IsOk()));
  liar.reset();
  EXPECT_EQ(*Get(HashOf(content)), content);
}

TEST_F(BlobStoreTest, PrincipalsSeeTheirOwn) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content, "a"), IsOk());
  EXPECT_FALSE(Find(content, "b").is_complete);
  EXPECT_THAT(Get(HashOf(content), "b"), StatusIs(Code::kNotFound));
  // It has to send the bytes: the hash alone proves nothing.
  EXPECT_THAT(*Begin(content, 0, "b"), Not(IsNull()));
}

TEST_F(BlobStoreTest, HashesHave32Bytes) {
  Start();
  EXPECT_THAT(store_->Open("", "abc"), StatusIs(Code::kInvalidArgument, HasSubstr("3 bytes")));
  EXPECT_THAT(store_->Find("", ""), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(store_->BeginUpload("", "../../etc/passwd", 1, 0), StatusIs(Code::kInvalidArgument));
}

// ** restarts, damage **

TEST_F(BlobStoreTest, SurvivesARestart) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content), IsOk());
  Start();
  EXPECT_TRUE(Find(content).is_complete);
  EXPECT_EQ(*Get(HashOf(content)), content);
}

TEST_F(BlobStoreTest, AnAlteredFileIsNoticedAfterARestart) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content), IsOk());
  store_.reset();
  {
    std::fstream file(Files().at(0), std::ios::in | std::ios::out);
    file.seekp(500);
    file.put(static_cast<char>(content[500] + 1));
  }
  Start();
  EXPECT_THAT(Get(HashOf(content)), StatusIs(Code::kNotFound, HasSubstr("damaged")));
  EXPECT_FALSE(Find(content).is_complete);
  EXPECT_TRUE(Files().empty());
  ASSERT_THAT(Put(content), IsOk());
  EXPECT_EQ(*Get(HashOf(content)), content);
}

TEST_F(BlobStoreTest, ATruncatedFileIsNoticed) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content), IsOk());
  fs::resize_file(Files().at(0), 999);
  EXPECT_THAT(Get(HashOf(content)), StatusIs(Code::kNotFound, HasSubstr("damaged")));
  ASSERT_THAT(Put(content), IsOk());
  fs::resize_file(Files().at(0), 999);
  Start();
  EXPECT_THAT(Get(HashOf(content)), StatusIs(Code::kNotFound, HasSubstr("damaged")));
}

TEST_F(BlobStoreTest, AFileThatIsGoneIsNotFound) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content), IsOk());
  fs::remove(Files().at(0));
  EXPECT_THAT(Get(HashOf(content)), StatusIs(Code::kNotFound));
  EXPECT_THAT(Put(content), IsOk());
}

TEST_F(BlobStoreTest, WhatElseLiesThereIsLeftAlone) {
  Start();
  const std::string content = Content(1000);
  ASSERT_THAT(Put(content), IsOk());
  const fs::path folder = Files().at(0).parent_path();
  store_.reset();
  std::ofstream(folder / "notes.txt") << "mine";
  fs::create_directory(folder / std::string(64, 'a'));
  fs::create_symlink("/etc/passwd", folder / std::string(64, 'b'));
  Start();
  EXPECT_EQ(*Get(HashOf(content)), content);
  EXPECT_THAT(Get(std::string(32, '\xbb')), StatusIs(Code::kNotFound));
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
}

// ** bounds **

TEST_F(BlobStoreTest, TheLeastRecentlyUsedGoes) {
  Start();
  std::vector<std::string> contents;
  for (unsigned i = 0; i < 4; ++i) contents.push_back(Content(300'000, i));
  for (int i = 0; i < 3; ++i) ASSERT_THAT(Put(contents[static_cast<size_t>(i)]), IsOk());
  ASSERT_THAT(Get(HashOf(contents[0])), IsOk());
  const auto open = *store_->Open("", HashOf(contents[1]));
  ASSERT_THAT(Get(HashOf(contents[0])), IsOk());
  ASSERT_THAT(Get(HashOf(contents[2])), IsOk());
  ASSERT_THAT(Put(contents[3]), IsOk());
  EXPECT_TRUE(Find(contents[0]).is_complete);
  EXPECT_FALSE(Find(contents[1]).is_complete);
  EXPECT_TRUE(Find(contents[2]).is_complete);
  EXPECT_LE(store_->bytes(), options_.max_principal_bytes);
  EXPECT_EQ(Files().size(), 3);
  // Who has it open reads on.
  std::byte b;
  EXPECT_THAT(open->ReadAt(299'999, absl::MakeSpan(&b, 1)), IsOk());
}

TEST_F(BlobStoreTest, BoundsHoldAfterARestartWithLess) {
  Start();
  for (unsigned i = 0; i < 3; ++i) ASSERT_THAT(Put(Content(300'000, i)), IsOk());
  options_.max_principal_bytes = 700'000;
  Start();
  EXPECT_EQ(Files().size(), 2);
  EXPECT_FALSE(Find(Content(300'000, 0)).is_complete);
}

TEST_F(BlobStoreTest, SmallBlobsAreBoundedToo) {
  options_.max_principal_bytes = 10 * 4096;
  Start();
  for (unsigned i = 0; i < 100; ++i) ASSERT_THAT(Put(Content(1, i) + std::to_string(i)), IsOk());
  EXPECT_EQ(Files().size(), 10);
}

TEST_F(BlobStoreTest, LimitsAreNamed) {
  options_.max_uploads = 2;
  Start();
  EXPECT_THAT(store_->BeginUpload("", std::string(32, 'x'), uint64_t{1} << 63, 0),
              StatusIs(Code::kResourceExhausted, HasSubstr("max_blob_bytes")));
  const auto a = *Begin(Content(600'000, 1));
  // Uploads under way are never evicted.
  EXPECT_THAT(Begin(Content(600'000, 2)),
              StatusIs(Code::kResourceExhausted, HasSubstr("max_principal_blob_bytes")));
  const auto b = *Begin(Content(1000, 3));
  EXPECT_THAT(Begin(Content(1000, 4)),
              StatusIs(Code::kResourceExhausted, HasSubstr("2 uploads at a time")));
}

TEST_F(BlobStoreTest, StoppedUploadsMakeRoom) {
  Start();
  const std::string stopped = Content(600'000, 1);
  {
    ASSERT_THAT(Write(**Begin(stopped), 0, stopped.substr(0, 599'999)), IsOk());
  }
  ASSERT_THAT(Put(Content(600'000, 2)), IsOk());
  EXPECT_EQ(Find(stopped).received, 0);
  EXPECT_EQ(Files().size(), 1);
}

// A disk that is full, as a limit on the size of files.
TEST_F(BlobStoreTest, AFullDiskIsResourceExhausted) {
  Start();
  const std::string content = Content(100'000);
  auto upload = *Begin(content);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  rlimit full = before;
  full.rlim_cur = 50'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const absl::Status status = Write(*upload, 0, content);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(status, StatusIs(Code::kResourceExhausted, HasSubstr("full")));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr(root_)));
  // It goes on once there is room.
  upload.reset();
  const uint64_t received = Find(content).received;
  EXPECT_LE(received, 50'000);
  upload = *Begin(content, received);
  ASSERT_THAT(Write(*upload, received, content.substr(received)), IsOk());
  ASSERT_THAT(upload->Finish(), IsOk());
  EXPECT_EQ(*Get(HashOf(content)), content);
}

// ** folders that can't be used **

TEST_F(BlobStoreTest, UnusableFolders) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_THAT(BlobStore::Create({.folder = root_ + "/file"}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("it is no folder")));
  EXPECT_THAT(BlobStore::Create({.folder = root_ + "/file/below"}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("Not a directory")));
  EXPECT_THAT(BlobStore::Create({.folder = ""}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("no name")));
  EXPECT_THAT(BlobStore::Create({.folder = "/proc/blobs"}), StatusIs(Code::kFailedPrecondition));
  ASSERT_EQ(mkdir((root_ + "/open").c_str(), 0700), 0);
  ASSERT_EQ(chmod((root_ + "/open").c_str(), 0777), 0);
  EXPECT_THAT(BlobStore::Create({.folder = root_ + "/open"}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("other users may write")));
}

TEST_F(BlobStoreTest, OneDaemonAtATime) {
  Start();
  EXPECT_THAT(BlobStore::Create(options_),
              StatusIs(Code::kFailedPrecondition, HasSubstr("another server uses it")));
  Start();
}

}  // namespace
}  // namespace kiln::server
