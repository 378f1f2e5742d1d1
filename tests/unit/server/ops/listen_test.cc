#include "server/ops/listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "tests/support/status_matchers.h"

namespace kiln::server {
namespace {

using support::StatusIs;
using testing::HasSubstr;

TEST(CheckLocal, KnowsWhatOtherMachinesCanReach) {
  for (const char* address : {"unix:/run/kiln.sock", "unix:kiln.sock", "127.0.0.1:0",
                              "127.9.0.1:80", "localhost:7474", "[::1]:7474"}) {
    KILN_EXPECT_OK(CheckLocal(address)) << address;
  }
  for (const char* address : {"0.0.0.0:7474", "[::]:7474", "10.0.0.1:1", "example.org:80"}) {
    EXPECT_THAT(CheckLocal(address),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--insecure")));
  }
  for (const char* address : {"", "7474", ":7474", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                              "127.0.0.1:65536", "127.0.0.1:-1", "unix:"}) {
    EXPECT_THAT(CheckLocal(address), StatusIs(absl::StatusCode::kInvalidArgument)) << address;
  }
}

TEST(UnixPath, TakesBothForms) {
  EXPECT_EQ(UnixPath("unix:/a/b"), "/a/b");
  EXPECT_EQ(UnixPath("unix:///a/b"), "/a/b");
  EXPECT_EQ(UnixPath("unix:b"), "b");
  EXPECT_EQ(UnixPath("127.0.0.1:1"), "");
}

class SocketLockTest : public testing::Test {
 protected:
  SocketLockTest() {
    char name[] = "/tmp/kiln_lock_XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/kiln.sock";
  }
  ~SocketLockTest() override {
    unlink(path_.c_str());
    unlink((path_ + ".lock").c_str());
    rmdir(folder_.c_str());
  }
  void BindSocket() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {.sun_family = AF_UNIX};
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }

  std::string folder_, path_;
};

TEST_F(SocketLockTest, TheSecondIsToldWhoIsThere) {
  KILN_ASSERT_OK_AND_ASSIGN(auto first, SocketLock::Take(path_));
  EXPECT_THAT(SocketLock::Take(path_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(path_)));
  first.reset();
  KILN_EXPECT_OK(SocketLock::Take(path_));
}

TEST_F(SocketLockTest, RemovesWhatADeadDaemonLeft) {
  BindSocket();
  KILN_ASSERT_OK_AND_ASSIGN(auto lock, SocketLock::Take(path_));
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
  BindSocket();
  lock.reset();
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(SocketLockTest, LeavesOtherFilesAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(SocketLock::Take(path_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(SocketLockTest, SaysWhichFolderIsMissing) {
  EXPECT_THAT(SocketLock::Take(folder_ + "/none/kiln.sock"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/kiln.sock.lock")));
  EXPECT_THAT(SocketLock::Take("/" + std::string(200, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kiln::server
