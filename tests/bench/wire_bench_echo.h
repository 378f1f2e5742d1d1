// A bare gRPC bidi echo, what any protocol on gRPC is measured against.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/wire/support/kilnd_process.h"

namespace kiln::bench {

// Echoes at `address` until it is killed. Returns an exit code.
int ServeEcho(const std::string& address);

// An echo in a process of its own: this program, with --echo=ADDRESS.
class EchoServer {
 public:
  explicit EchoServer(bool tcp);
  const std::string& address() const { return address_; }

 private:
  wire::TempFolder folder_;
  std::unique_ptr<wire::ChildProcess> process_;
  std::string address_;
};

// Messages of `bytes` bytes there and back, one at a time.
class EchoClient {
 public:
  EchoClient(const std::string& address, size_t bytes);
  ~EchoClient();

  // One, waited for by this thread.
  void PingFromThread();
  // Microseconds of each of `n`, sent and received by threads of gRPC only.
  std::vector<double> PingPong(int n);

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace kiln::bench
