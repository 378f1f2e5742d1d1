// A proxy between a client and a kilnd, which delays bytes and cuts connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln::wire {

struct ProxyOptions {
  absl::Duration delay = absl::ZeroDuration();  // Of each byte, each way.
};

// Thread-safe. Listens on 127.0.0.1.
class Proxy {
 public:
  // To a kilnd at "unix:/path" or "127.0.0.1:port".
  static absl::StatusOr<std::unique_ptr<Proxy>> Start(const std::string& to,
                                                      const ProxyOptions& options = {});
  ~Proxy();

  const std::string& address() const { return address_; }
  // All connections break when so many more bytes have passed, both ways together: what had passed
  // has arrived, the rest has not. Once.
  void CutAfter(int64_t bytes) { budget_ = bytes; }
  bool is_cut_due() const { return budget_ >= 0; }
  int64_t num_cuts() const { return num_cuts_; }
  // Neither way passes anything, without a connection being closed, until it is turned off.
  void SetStalled(bool stalled) { stalled_ = stalled; }

 private:
  struct Pipe;
  Proxy() = default;
  void Loop();
  bool Move(Pipe& pipe);  // False: the connection is over.

  std::string to_, address_;
  ProxyOptions options_;
  int listener_ = -1, wake_[2] = {-1, -1};
  std::atomic<int64_t> budget_ = -1, num_cuts_ = 0;
  std::atomic<bool> stalled_ = false;
  std::thread thread_;
};

}  // namespace kiln::wire
