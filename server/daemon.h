// The daemon: devices, engine, sessions and the gRPC server in front of them.
//
//   KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Daemon> daemon, Daemon::Start(registry, options));
//   ... daemon->addresses() ...
//   daemon->Shutdown(deadline);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/runtime/registry.h"
#include "server/limits.h"

namespace kiln::server {

struct DaemonOptions {
  // "unix:/path" or "host:port"; port 0 picks one. At least one.
  std::vector<std::string> listen;
  // Allows addresses that are not of this machine only, where whoever connects can use everything.
  bool insecure = false;
  // Devices for clients, the default one first.
  std::vector<std::string> devices = {"cpu:0"};
  // Where compiled kernels are kept; none: they are not. A folder that can't be used is no error.
  std::optional<std::string> cache_folder;
  int64_t max_cache_bytes = int64_t{512} << 20;
  int compile_threads = 0;  // 0: one for each core.
  // Where blobs are kept; none: they are not. A folder that can't be used is no error.
  std::optional<std::string> blob_folder;
  std::string metrics_address;  // Serves http://<it>/metrics; empty: nothing.
  SessionLimits limits;
};

// Thread-safe.
class Daemon {
 public:
  // InvalidArgument: an address that can't be; PermissionDenied: one that is not of this machine
  // only; AlreadyExists: somebody listens there; errors of devices. The registry is borrowed.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(runtime::Registry& registry,
                                                       DaemonOptions options);
  virtual ~Daemon() = default;

  // Calls once when an operator asks the daemon to drain, with the deadline wished for (zero: the
  // default). On a thread of gRPC: must not block.
  virtual void OnDrainRequested(std::function<void(absl::Duration deadline)> callback) = 0;
  // Where it listens, with the ports that were picked, in the order of the options.
  virtual const std::vector<std::string>& addresses() const = 0;
  // Why compiled kernels or blobs are not kept, though a folder was given.
  virtual absl::Status cache_status() const = 0;
  virtual const absl::Status& blob_status() const = 0;
  // Takes no new sessions and waits for those there are to close, until the deadline; ends what is left.
  // Then nothing listens any more. Returns how many sessions it has ended.
  virtual int Shutdown(absl::Time deadline) = 0;
};

}  // namespace kiln::server
