#include "tests/wire/support/proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace kiln::wire {
namespace {

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

int ConnectTo(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, address.c_str() + 5, sizeof(name.sun_path) - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0) return fd;
    close(fd);
    return -1;
  }
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1)));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0) return fd;
  close(fd);
  return -1;
}

void SetNoDelay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // Fails on a unix socket: no matter.
}

constexpr size_t kMostHeld = size_t{8} << 20;  // Bytes on their way.

}  // namespace

// One direction of a connection.
struct Proxy::Pipe {
  struct Piece {
    absl::Time due;
    std::string bytes;
  };
  int from, to;
  std::deque<Piece> pieces;
  size_t held = 0;
  bool wants_write = false;  // `to` took less than there was.
};

absl::StatusOr<std::unique_ptr<Proxy>> Proxy::Start(const std::string& to,
                                                    const ProxyOptions& options) {
  std::unique_ptr<Proxy> proxy(new Proxy);
  proxy->to_ = to;
  proxy->options_ = options;
  proxy->listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  if (bind(proxy->listener_, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      listen(proxy->listener_, 64) != 0 ||
      getsockname(proxy->listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
      pipe2(proxy->wake_, O_CLOEXEC) != 0) {
    return absl::InternalError("the proxy cannot listen");
  }
  proxy->address_ = absl::StrCat("127.0.0.1:", ntohs(name.sin_port));
  SetNonBlocking(proxy->listener_);
  proxy->thread_ = std::thread([p = proxy.get()] { p->Loop(); });
  return proxy;
}

Proxy::~Proxy() {
  if (wake_[1] >= 0) close(wake_[1]);
  if (thread_.joinable()) thread_.join();
  if (wake_[0] >= 0) close(wake_[0]);
  close(listener_);
}

bool Proxy::Move(Pipe& pipe) {
  if (pipe.held < kMostHeld) {
    char buffer[1 << 16];
    const ssize_t n = recv(pipe.from, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n > 0) {
      pipe.pieces.push_back(
          {absl::Now() + options_.delay, std::string(buffer, static_cast<size_t>(n))});
      pipe.held += static_cast<size_t>(n);
    }
  }
  pipe.wants_write = false;
  while (!pipe.pieces.empty() && pipe.pieces.front().due <= absl::Now()) {
    std::string& bytes = pipe.pieces.front().bytes;
    size_t size = bytes.size();
    const int64_t budget = budget_;
    if (budget >= 0) size = std::min(size, static_cast<size_t>(budget));
    const ssize_t n =
        size == 0 ? 0 : send(pipe.to, bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) {
      pipe.held -= static_cast<size_t>(n);
      bytes.erase(0, static_cast<size_t>(n));
      if (bytes.empty()) pipe.pieces.pop_front();
      if (budget >= 0) budget_ = budget - n;
    }
    if (budget_ == 0) return true;  // The caller cuts.
    if (n <= 0) {
      pipe.wants_write = true;
      break;
    }
  }
  return true;
}

void Proxy::Loop() {
  struct Connection {
    Pipe up, down;
  };
  std::list<Connection> connections;
  const auto close_one = [&](std::list<Connection>::iterator it) {
    close(it->up.from);
    close(it->up.to);
    return connections.erase(it);
  };
  for (;;) {
    std::vector<pollfd> polled = {{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    absl::Duration wait = absl::Milliseconds(20);
    for (Connection& c : connections) {
      for (Pipe* pipe : {&c.up, &c.down}) {
        if (stalled_) continue;
        if (pipe->held < kMostHeld) polled.push_back({pipe->from, POLLIN, 0});
        if (pipe->wants_write) polled.push_back({pipe->to, POLLOUT, 0});
        if (!pipe->pieces.empty() && !pipe->wants_write) {
          wait = std::min(wait, pipe->pieces.front().due - absl::Now());
        }
      }
    }
    const timespec timeout = absl::ToTimespec(std::max(wait, absl::ZeroDuration()));
    ppoll(polled.data(), polled.size(), &timeout, nullptr);
    if (polled[0].revents != 0) break;
    if (polled[1].revents != 0) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = client < 0 ? -1 : ConnectTo(to_);
      if (client >= 0 && server < 0) close(client);
      if (server >= 0) {
        SetNoDelay(client);
        SetNoDelay(server);
        connections.push_back({{client, server, {}, 0, false}, {server, client, {}, 0, false}});
      }
    }
    if (stalled_) continue;
    for (auto it = connections.begin(); it != connections.end();) {
      const bool lives = Move(it->up) && Move(it->down);
      if (budget_ == 0) break;
      it = lives ? std::next(it) : close_one(it);
    }
    if (budget_ == 0) {
      while (!connections.empty()) close_one(connections.begin());
      budget_ = -1;
      ++num_cuts_;
    }
  }
  while (!connections.empty()) close_one(connections.begin());
}

}  // namespace kiln::wire
