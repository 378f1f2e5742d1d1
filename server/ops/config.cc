#include "server/ops/config.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

#include <CLI/CLI.hpp>

#include "server/server_info.h"

namespace kiln::server {
namespace {

constexpr char kFooter[] = R"(
Examples:
  kilnd --listen unix:/run/kiln/kiln.sock
  kilnd --listen 127.0.0.1:7474 --metrics 127.0.0.1:9474 --max-session-bytes 8GB
  kilnd --config /etc/kiln/kilnd.toml

Sizes take KB, MB, GB (powers of 1000) and KiB, MiB, GiB (of 1024). The file has the same names without
dashes in front, one a line:  listen = ["unix:/run/kiln/kiln.sock"]
Other machines: listen on 127.0.0.1 and use ssh -L 7474:127.0.0.1:7474 HOST. There is no access control yet.
SIGTERM: no new sessions, waits --drain-seconds for those there are, exits with 0.)";

// Where caches go unless told otherwise; empty if there is no such place.
std::string DefaultFolder(const char* systemd, const char* name) {
  if (const char* folder = std::getenv(systemd); folder != nullptr && *folder == '/') {
    return absl::StrCat(folder, "/", name);
  }
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/') {
    return absl::StrCat(folder, "/kiln/", name);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return absl::StrCat(home, "/.cache/kiln/", name);
  }
  return "";
}

bool IsFolder(const std::string& folder) { return !folder.empty() && folder != "none"; }

// What is parsed into, where the types of Config are not CLI11's.
struct Raw {
  std::string cache = DefaultFolder("CACHE_DIRECTORY", "kernels");
  std::string blobs = DefaultFolder("STATE_DIRECTORY", "blobs");
  std::string log_level = "info";
  double drain_s = 10, lease_s = 30, transfer_timeout_s = 30;
};

CLI::Option* AddBytes(CLI::App& app, const char* flag, int64_t& bytes, const char* doc) {
  return app.add_option(flag, bytes, doc)
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->capture_default_str()
      ->type_name("BYTES");
}

void AddFlags(CLI::App& app, Config& config, Raw& raw) {
  DaemonOptions& daemon = config.daemon;
  SessionLimits& limits = daemon.limits;
  app.add_option("--listen", daemon.listen, "unix:/path or host:port, repeatable; port 0 picks one")
      ->required()
      ->type_name("ADDRESS");
  app.add_flag("--insecure", daemon.insecure,
               "also listen where other machines can connect, without any access control");
  app.add_option("--metrics", config.metrics, "serve http://ADDRESS/metrics for Prometheus")
      ->type_name("HOST:PORT");
  app.add_option("--log-level", raw.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--drain-seconds", raw.drain_s, "how long SIGTERM waits for sessions to close")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();

  constexpr char kDevices[] = "Devices";
  app.add_option("--cpu-devices", config.cpu_devices, "number of devices cpu:0, cpu:1...")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group(kDevices);
  app.add_option("--cpu-cores", config.cpu_cores, "cores for all of them; 0: all")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str()
      ->group(kDevices);
  AddBytes(app, "--cpu-memory", config.cpu_memory, "memory of each device; 0: the machine's")
      ->group(kDevices);

  constexpr char kCaches[] = "Caches";
  app.add_option("--cache", raw.cache, "folder for compiled kernels, or none")
      ->capture_default_str()
      ->group(kCaches);
  AddBytes(app, "--max-cache-bytes", daemon.max_cache_bytes, "size of that folder")->group(kCaches);
  app.add_option("--blobs", raw.blobs, "folder for uploaded blobs, or none")
      ->capture_default_str()
      ->group(kCaches);
  AddBytes(app, "--max-blob-bytes", limits.max_blob_bytes, "size of one blob")->group(kCaches);
  AddBytes(app, "--max-principal-blob-bytes", limits.max_principal_blob_bytes,
           "size of that folder")
      ->group(kCaches);
  app.add_option("--compile-threads", daemon.compile_threads, "0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(kCaches);

  constexpr char kLimits[] = "Limits of one session";
  AddBytes(app, "--max-session-bytes", limits.max_bytes, "device memory")->group(kLimits);
  app.add_option("--max-buffers", limits.max_buffers, "buffers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kLimits);
  app.add_option("--max-graphs", limits.max_graphs, "compiled graphs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kLimits);
  app.add_option("--max-graph-nodes", limits.max_graph_nodes, "nodes of one graph")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kLimits);
  app.add_option("--max-queued-commands", limits.max_queued_commands, "commands that wait")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kLimits);
  app.add_option("--max-sessions", limits.max_sessions, "sessions of the daemon")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kLimits);
  app.add_option("--lease-seconds", raw.lease_s, "a session that is silent for so long ends")
      ->check(CLI::Range(1.0, 600.0))
      ->capture_default_str()
      ->group(kLimits);
  app.add_option("--transfer-timeout-seconds", raw.transfer_timeout_s,
                 "a transfer that stands still for so long fails")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str()
      ->group(kLimits);
}

LogLevel LevelOf(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

}  // namespace

std::variant<Config, ConfigExit> ParseConfig(int argc, const char* const* argv) {
  Config config;
  Raw raw;
  CLI::App app("kilnd: shares the compute devices of this machine with clients over gRPC.",
               "kilnd");
  app.footer(kFooter);
  app.set_version_flag("--version", absl::StrCat("kilnd ", kVersion));
  app.set_config("--config", "", "file with flags, as TOML")->envname("KILND_CONFIG");
  app.allow_config_extras(CLI::config_extras_mode::error);
  AddFlags(app, config, raw);
  try {  // The library's way to end; it stops here.
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, err;
    const int code = app.exit(e, out, err);
    if (code == 0) return ConfigExit{0, out.str()};
    return ConfigExit{2, absl::StrCat("kilnd: ", e.what(), "\nTry kilnd --help.\n")};
  }
  if (IsFolder(raw.cache)) config.daemon.cache_folder = raw.cache;
  if (IsFolder(raw.blobs)) config.daemon.blob_folder = raw.blobs;
  config.daemon.metrics_address = config.metrics;
  config.daemon.devices.clear();
  for (int i = 0; i < config.cpu_devices; ++i) {
    config.daemon.devices.push_back(absl::StrCat("cpu:", i));
  }
  config.log_level = LevelOf(raw.log_level);
  config.drain = absl::Seconds(raw.drain_s);
  config.daemon.limits.lease = absl::Seconds(raw.lease_s);
  config.daemon.limits.transfer_timeout = absl::Seconds(raw.transfer_timeout_s);
  return config;
}

}  // namespace kiln::server
