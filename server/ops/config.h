// What kilnd is told: flags, and a file with the same names.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/daemon.h"
#include "server/ops/log.h"

namespace kiln::server {

struct Config {
  DaemonOptions daemon;
  int cpu_devices = 1;
  int cpu_cores = 0;       // For all devices; 0: all that the process may use.
  int64_t cpu_memory = 0;  // Bytes, of each device; 0: the machine's.
  std::string metrics;     // Address for Prometheus; empty: none.
  LogLevel log_level = LogLevel::kInfo;
  absl::Duration drain = absl::Seconds(10);
};

// How parsing ended, if not with a Config.
struct ConfigExit {
  int code;
  std::string text;  // For standard output if the code is 0, else for standard error.
};

// Flags, then KILND_CONFIG or --config FILE for what no flag says, then defaults. --help and --version
// end with code 0, what is wrong with 2 and the name of the flag.
std::variant<Config, ConfigExit> ParseConfig(int argc, const char* const* argv);

}  // namespace kiln::server
