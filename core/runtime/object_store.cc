#include "core/runtime/object_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;

// A file: magic, digest of what follows, key, contents.
constexpr std::string_view kMagic = "kiln object 1\n";
constexpr size_t kHeaderBytes = kMagic.size() + 32 + 32;
constexpr std::string_view kSuffix = ".kilnobj", kTemporarySuffix = ".tmp";
constexpr int64_t kAbandonedAfterSeconds = 3600;

absl::Status Unusable(const std::string& folder, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("no kernels are kept in \"", folder, "\": ", std::string(why)));
}

// Whole, or empty if it is larger than anything that is kept. None: there is no such file.
std::optional<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  // Without O_NONBLOCK, a pipe of this name would be waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size > max_bytes) return std::string();
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  futimens(fd, nullptr);  // Used now. May fail: then the file looks older than it is.
  return bytes;
}

// Writes a new file, readable for the user alone, named `stem`, some random letters and the suffix
// of what is not published yet: what a process left that was killed stands in nobody's way. Its
// path; none if there is no such file now.
std::optional<std::string> WriteTemporary(const std::string& stem, std::string_view bytes) {
  std::string path = absl::StrCat(stem, ".XXXXXX", std::string(kTemporarySuffix));
  const int fd = mkostemps(path.data(), static_cast<int>(kTemporarySuffix.size()), O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  if (close(fd) == 0 && bytes.empty()) return path;
  unlink(path.c_str());
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectStore>> ObjectStore::Open(Options options) {
  if (options.folder.empty()) return Unusable(options.folder, "it has no name");
  std::error_code error;
  const fs::path folder(options.folder);
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (mkdir(options.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Unusable(options.folder, std::strerror(errno));
  }
  struct stat info;
  if (stat(options.folder.c_str(), &info) != 0) {
    return Unusable(options.folder, std::strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) return Unusable(options.folder, "it is no folder");
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return Unusable(options.folder, "it belongs to another user");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Unusable(options.folder, "other users may write to it");
  }
  auto store = std::unique_ptr<ObjectStore>(new ObjectStore(std::move(options)));
  {
    absl::MutexLock lock(&store->mu_);
    store->Evict();
  }
  return store;
}

std::string ObjectStore::PathOf(const Digest& key) const {
  return absl::StrCat(options_.folder, "/", key.ToHex(), std::string(kSuffix));
}

std::optional<std::string> ObjectStore::Find(const Digest& key) {
  const std::string path = PathOf(key);
  std::optional<std::string> file = ReadFile(path, options_.max_bytes);
  bool intact = false;
  if (file.has_value() && file->size() >= kHeaderBytes) {
    const std::string_view bytes = *file;
    const std::string_view checked = bytes.substr(kMagic.size() + 32);
    intact = bytes.substr(0, kMagic.size()) == kMagic &&
             bytes.substr(kMagic.size(), 32) == DigestOf(checked).view() &&
             checked.substr(0, 32) == key.view();
  }
  if (file.has_value() && !intact) unlink(path.c_str());
  absl::MutexLock lock(&mu_);
  ++(intact ? counters_.hits : counters_.misses);
  if (!file.has_value()) return std::nullopt;
  if (!intact) {
    ++counters_.damaged;
    return std::nullopt;
  }
  file->erase(0, kHeaderBytes);
  return file;
}

void ObjectStore::Store(const Digest& key, std::string_view contents) {
  std::string checked(key.view());
  checked += contents;
  std::string file(kMagic);
  file += DigestOf(checked).view();
  file += checked;
  const std::string path = PathOf(key);
  const std::optional<std::string> temporary =
      WriteTemporary(absl::StrCat(options_.folder, "/", key.ToHex()), file);
  const bool stored = temporary.has_value() && rename(temporary->c_str(), path.c_str()) == 0;
  if (!stored && temporary.has_value()) unlink(temporary->c_str());
  absl::MutexLock lock(&mu_);
  ++(stored ? counters_.stored : counters_.failed_stores);
  if (!stored) return;
  known_bytes_ += static_cast<int64_t>(file.size());
  if (known_bytes_ > options_.max_bytes) Evict();
}

void ObjectStore::Evict() {
  struct File {
    timespec used;
    int64_t bytes;
    std::string path;
  };
  std::vector<File> files;
  known_bytes_ = 0;
  std::error_code error;
  for (fs::directory_iterator it(options_.folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().string();
    struct stat info;
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (absl::EndsWith(path, {kSuffix.data(), kSuffix.size()})) {
      files.push_back({info.st_mtim, info.st_size, path});
      known_bytes_ += info.st_size;
    } else if (absl::EndsWith(path, {kTemporarySuffix.data(), kTemporarySuffix.size()}) &&
               time(nullptr) - info.st_mtim.tv_sec > kAbandonedAfterSeconds) {
      unlink(path.c_str());
    }
  }
  if (known_bytes_ <= options_.max_bytes) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) <
           std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  // Some more than needed, so that this is not done for each file stored.
  const int64_t enough = options_.max_bytes - options_.max_bytes / 8;
  for (const File& file : files) {
    if (known_bytes_ <= enough) break;
    if (unlink(file.path.c_str()) != 0 && errno != ENOENT) continue;
    known_bytes_ -= file.bytes;
    ++counters_.evicted;
  }
}

ObjectStore::Counters ObjectStore::counters() const {
  absl::MutexLock lock(&mu_);
  Counters counters = counters_;
  counters.bytes = known_bytes_;
  return counters;
}

}  // namespace kiln::runtime
