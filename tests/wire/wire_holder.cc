// A client for lease_test: has 64 MiB and a lease of two seconds, says "ready", and then, when its
// session has ended, why.
#include <cstdio>

#include "absl/time/clock.h"

#include "client/cpp/session.h"

int main(int, char** argv) {
  absl::StatusOr<kiln::Session> session =
      kiln::Session::Connect(argv[1], {.client_name = "wire-holder", .lease = absl::Seconds(2)});
  if (!session.ok()) {
    std::printf("%s\n", session.status().ToString().c_str());
    return 1;
  }
  const kiln::Buffer buffer = session->Alloc(size_t{64} << 20);
  const bool made = buffer.made().Get().ok();
  std::printf("%s\n", made ? "ready" : "no memory");
  std::fflush(stdout);
  while (session->status().ok()) absl::SleepFor(absl::Milliseconds(50));
  std::printf("%s\n", absl::StatusCodeToString(session->status().code()).c_str());
  std::fflush(stdout);
}
