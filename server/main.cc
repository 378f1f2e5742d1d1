// kilnd: the daemon.
#include <malloc.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include <systemd/sd-daemon.h>

#include "backends/cpu/cpu.h"
#include "core/runtime/registry.h"
#include "server/daemon.h"
#include "server/ops/config.h"
#include "server/ops/log.h"

namespace {

using namespace kiln::server;  // NOLINT: this is the program, not a library.

// Incoming slices of more than 128 KB would else be mapped, touched for the first time and unmapped
// each: half of the throughput of bulk data.
void TuneMalloc() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

// Debian's Abseil detects deadlocks of mutexes, under one lock for all of them: that triples what
// each costs. Tests leave it on.
void TuneMutexes() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

// The signals that end the daemon: blocked in all threads, since this is called before there are
// others; the main thread waits for them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "kilnd: %s\n", std::string(status.message()).c_str());
  return 1;
}

void WarnOf(const char* what, const absl::Status& status) {
  if (status.ok()) return;
  Log(LogLevel::kWarning, absl::StrCat(what, " are not kept"),
      {{"why", std::string(status.message())}});
}

int Serve(Config config, sigset_t signals) {
  kiln::runtime::Registry registry;
  absl::Status status =
      kiln::cpu::RegisterCpuBackend(registry, {.num_devices = config.cpu_devices,
                                               .max_cores = config.cpu_cores,
                                               .memory_bytes = config.cpu_memory});
  if (!status.ok()) return Fail(status);
  absl::StatusOr<std::unique_ptr<Daemon>> daemon =
      Daemon::Start(registry, std::move(config.daemon));
  if (!daemon.ok()) return Fail(daemon.status());
  WarnOf("compiled kernels", (*daemon)->cache_status());
  WarnOf("blobs", (*daemon)->blob_status());
  // An operator's wish is a SIGTERM with a deadline of its own.
  std::atomic<int64_t> drain_ms = absl::ToInt64Milliseconds(config.drain);
  (*daemon)->OnDrainRequested([&drain_ms](absl::Duration deadline) {
    if (deadline > absl::ZeroDuration()) drain_ms = absl::ToInt64Milliseconds(deadline);
    kill(getpid(), SIGTERM);
  });
  for (const std::string& address : (*daemon)->addresses()) {
    std::printf("listening on %s\n", address.c_str());
  }
  std::fflush(stdout);
  sd_notify(0, "READY=1");  // Nothing, if no service manager asked for it.

  int signal_number;
  sigwait(&signals, &signal_number);
  sd_notify(0, "STOPPING=1");
  Log(LogLevel::kInfo, "draining", {{"deadline_ms", absl::StrCat(drain_ms.load())}});
  const int ended = (*daemon)->Shutdown(absl::Now() + absl::Milliseconds(drain_ms.load()));
  Log(LogLevel::kInfo, "stopped", {{"sessions_ended", absl::StrCat(ended)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  TuneMalloc();
  TuneMutexes();
  const sigset_t signals = BlockSignals();
  std::variant<Config, ConfigExit> parsed = ParseConfig(argc, argv);
  if (const auto* exit = std::get_if<ConfigExit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->code == 0 ? stdout : stderr);
    return exit->code;
  }
  Config& config = std::get<Config>(parsed);
  SetLogLevel(config.log_level);
  return Serve(std::move(config), signals);
}
