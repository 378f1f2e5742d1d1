// The engine as an executor of the graph fixtures.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "tests/replay/graphs_executor.h"

namespace kiln::replay {

struct EngineExecutorOptions {
  std::string kind = "cpu";  // Of the devices: "CPU:1" of a record is kind:1, "HOST" another one.
  std::string validate_on = "";  // Device that results of kernels are compared with; none if empty.
  std::string cache_folder = "";  // Of compiled kernels; none if empty.
};

// Runs each graph; runs it again, which must compile nothing and give the same bits; and runs what
// was captured on inputs with other contents (in other buffers) and back, which must agree with a
// fresh engine and with the first run. Internal tells which of these failed.
absl::StatusOr<std::unique_ptr<GraphExecutor>> MakeEngineExecutor(
    const EngineExecutorOptions& options);

}  // namespace kiln::replay
