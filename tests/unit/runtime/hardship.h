// Circumstances that a process may find itself in. Each ends with its object.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace kiln::runtime {

// Writing to a file beyond `bytes` fails, as on a disk that is full: part of what is written may be
// in the file already.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_;
};

// The folder and what is in it can be read, and not be changed. Root is another user meanwhile, as
// nothing is read-only for it.
class ReadOnlyFolder {
 public:
  explicit ReadOnlyFolder(const std::string& path) : path_(path) {
    if (geteuid() == 0) {
      constexpr uid_t kNobody = 65534;
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        EXPECT_EQ(chown(entry.path().c_str(), kNobody, static_cast<gid_t>(-1)), 0);
      }
      EXPECT_EQ(chown(path.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
      // The folder of the test itself is root's: it must be passed through.
      parent_ = std::filesystem::path(path).parent_path().string();
      EXPECT_EQ(chmod(parent_.c_str(), 0711), 0);
      EXPECT_EQ(seteuid(kNobody), 0);
      was_root_ = true;
    }
    EXPECT_EQ(chmod(path.c_str(), 0500), 0);
  }
  ~ReadOnlyFolder() {
    if (was_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
    chmod(path_.c_str(), 0700);
  }
  ReadOnlyFolder(const ReadOnlyFolder&) = delete;
  ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;

 private:
  const std::string path_;
  std::string parent_;
  bool was_root_ = false;
};

}  // namespace kiln::runtime
