#include "server/ops/listen.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kiln::server {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status FromErrno(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, what);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketLock>> SocketLock::Take(const std::string& path) {
  if (path.size() > kMaxUnixPath) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of a unix socket has at most ", kMaxUnixPath, " bytes: ", path));
  }
  const std::string lock_path = absl::StrCat(path, ".lock");
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return FromErrno(errno, absl::StrCat("can't make ", lock_path));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return absl::AlreadyExistsError(absl::StrCat("another kilnd listens on unix:", path));
  }
  std::unique_ptr<SocketLock> lock(new SocketLock(path, fd));  // NOLINT: a private constructor.
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is there and is no socket"));
    }
    unlink(path.c_str());
  }
  return lock;
}

SocketLock::~SocketLock() {
  struct stat info;
  if (lstat(path_.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path_.c_str());
  // The lock's file stays: were it removed, two daemons could hold locks of two files of one name.
  close(fd_);
}

std::string_view UnixPath(std::string_view address) {
  if (address.substr(0, kUnix.size()) != kUnix) return {};
  address.remove_prefix(kUnix.size());
  // gRPC also takes unix:///absolute/path.
  if (address.substr(0, 2) == "//") address.remove_prefix(2);
  return address;
}

absl::Status CheckLocal(std::string_view address) {
  if (address.substr(0, kUnix.size()) == kUnix) {
    if (!UnixPath(address).empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("\"unix:\" needs a path: unix:/run/kiln/kiln.sock");
  }
  const size_t colon = address.rfind(':');
  int port;
  if (colon == std::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(std::string(address.substr(colon + 1)), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(address), "\" is neither unix:/path nor host:port (127.0.0.1:7474)"));
  }
  const std::string host(address.substr(0, colon));
  if (host == "localhost" || host == "[::1]" || absl::StartsWith(host, "127.")) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "\"", std::string(address),
      "\" can be reached from other machines, and there is no access control yet: listen on "
      "127.0.0.1 or a unix socket (and use ssh -L), or give --insecure"));
}

}  // namespace kiln::server
