// Addresses to listen on: what may be, and that nobody else is there.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln::server {

// Held while the daemon listens on a unix socket: nobody else takes the path away. The socket's file
// goes when it dies.
class SocketLock {
 public:
  // AlreadyExists: another daemon is there. PermissionDenied, NotFound: the folder. Removes a socket that
  // a daemon that has died left behind; FailedPrecondition: the path is something else.
  static absl::StatusOr<std::unique_ptr<SocketLock>> Take(const std::string& path);
  ~SocketLock();
  SocketLock(const SocketLock&) = delete;
  SocketLock& operator=(const SocketLock&) = delete;

 private:
  SocketLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  const std::string path_;
  const int fd_;
};

// The path of "unix:/path"; empty for other addresses.
std::string_view UnixPath(std::string_view address);

// OK if only programs of this machine can connect: a unix socket, 127.x.x.x, [::1], localhost. Else
// PermissionDenied, which says what to do. InvalidArgument: it is neither "unix:/path" nor "host:port".
absl::Status CheckLocal(std::string_view address);

}  // namespace kiln::server
