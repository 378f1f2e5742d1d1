#include "client/cpp/ctl/command.h"

#include <cstdio>

namespace kiln::ctl {

absl::StatusOr<Server> Invocation::Connect() const {
  absl::StatusOr<Server> server = Server::Connect(address);
  if (server.ok() && server->info().protocol() > kProtocol) {
    std::fprintf(
        stderr,
        "kilnctl: this kilnd speaks protocol %u, kilnctl %s knows %u: update kilnctl to see "
        "all of it\n",
        server->info().protocol(), kVersion, kProtocol);
  }
  return server;
}

}  // namespace kiln::ctl
