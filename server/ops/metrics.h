// Prometheus metrics of the daemon.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/runtime/device.h"
#include "core/runtime/engine.h"
#include "server/observer.h"

namespace kiln::server {

struct TotalCounts {
  int64_t commands = 0, failed_commands = 0;
  int64_t bytes_in = 0, bytes_out = 0;
  int64_t graphs_scheduled = 0, graph_hits = 0;
};

// Thread-safe.
class Metrics : public Observer {
 public:
  // `devices` and the engine are borrowed: what they count is read whenever somebody asks.
  static std::unique_ptr<Metrics> Make(const runtime::Engine& engine,
                                       std::vector<runtime::Device*> devices);
  // Serves http://<address>/metrics until it dies. "127.0.0.1:9474". AlreadyExists: somebody else does.
  virtual absl::Status Serve(const std::string& address) = 0;
  // In the text format of Prometheus.
  virtual std::string ToText() = 0;
  virtual TotalCounts totals() const = 0;
};

}  // namespace kiln::server
