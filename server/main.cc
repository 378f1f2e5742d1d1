// kilnd: the daemon.
#include <malloc.h>
#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/clock.h"

#include <CLI/CLI.hpp>

#include "backends/cpu/cpu.h"
#include "backends/interp/interp.h"
#include "core/runtime/registry.h"
#include "server/daemon.h"

namespace {

using kiln::server::Daemon;
using kiln::server::DaemonOptions;

// Incoming slices of more than 128 KB would else be mapped, touched for the first time and unmapped each:
// half of the throughput of bulk data.
void TuneMalloc() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "kilnd: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  TuneMalloc();
  // Before any thread: all have it blocked, and the main thread waits for it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  DaemonOptions options;
  int num_devices = 1;
  int drain_s = 10;
  std::string cache_folder, blob_folder;
  CLI::App app("Kiln's compute daemon", "kilnd");
  app.add_option("--listen", options.listen, "unix:/path or host:port; may be repeated")
      ->required();
  app.add_flag("--insecure", options.insecure, "allow addresses that other machines can reach");
  app.add_option("--cpu-devices", num_devices, "number of CPU devices, which share the cores");
  app.add_option("--cache", cache_folder, "folder for compiled kernels");
  app.add_option("--blobs", blob_folder, "folder for blobs");
  app.add_option("--drain-seconds", drain_s, "how long SIGTERM waits for sessions to close");
  CLI11_PARSE(app, argc, argv);
  if (!cache_folder.empty()) options.cache_folder = cache_folder;
  if (!blob_folder.empty()) options.blob_folder = blob_folder;
  options.devices.clear();
  for (int i = 0; i < num_devices; ++i) options.devices.push_back("cpu:" + std::to_string(i));

  kiln::runtime::Registry registry;
  absl::Status status = kiln::cpu::RegisterCpuBackend(registry, {.num_devices = num_devices});
  if (!status.ok()) return Fail(status);
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(registry, std::move(options));
  if (!daemon.ok()) return Fail(daemon.status());
  if (const absl::Status& blobs = (*daemon)->blob_status(); !blobs.ok()) {
    std::fprintf(stderr, "kilnd: %s\n", std::string(blobs.message()).c_str());
  }
  for (const std::string& address : (*daemon)->addresses()) {
    std::printf("listening on %s\n", address.c_str());
  }
  std::fflush(stdout);

  int signal_number;
  sigwait(&signals, &signal_number);
  (*daemon)->Shutdown(absl::Now() + absl::Seconds(drain_s));
  return 0;
}
