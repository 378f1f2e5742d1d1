// top: who uses the daemon at the moment.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/output.h"

namespace kiln::ctl {
namespace {

struct TopFlags {
  double interval_s = 1;
  bool once = false;
};

struct Sample {
  absl::Time time;
  v1::Stats stats;
  v1::ListSessionsResponse list;
};

absl::StatusOr<Sample> Take(Server& server) {
  absl::StatusOr<v1::Stats> stats = server.GetStats();
  if (!stats.ok()) return stats.status();
  absl::StatusOr<v1::ListSessionsResponse> list = server.ListSessions();
  if (!list.ok()) return list.status();
  return Sample{absl::Now(), *std::move(stats), *std::move(list)};
}

// What a number that only grows has grown by, each second.
double Rate(uint64_t before, uint64_t now, double seconds) {
  return now > before && seconds > 0 ? static_cast<double>(now - before) / seconds : 0;
}

std::string BusyText(uint64_t before_us, uint64_t now_us, double seconds) {
  return absl::StrFormat("%.0f %%", Rate(before_us, now_us, seconds) / 1e4);
}

std::string HitsText(uint64_t hits, uint64_t all) {
  if (all == 0) return "-";
  return absl::StrFormat("%.0f %%", 100.0 * static_cast<double>(hits) / static_cast<double>(all));
}

std::string SummaryText(const Sample& before, const Sample& now, const Server& server) {
  const v1::Stats &a = before.stats, &b = now.stats;
  const double seconds = absl::ToDoubleSeconds(now.time - before.time);
  const auto bytes = [&](uint64_t was, uint64_t is) {
    return absl::StrCat(BytesText(static_cast<uint64_t>(Rate(was, is, seconds))), "/s");
  };
  const uint64_t kernel_hits = b.kernel_memory_hits() + b.kernel_disk_hits();
  uint64_t queued = 0;
  for (const v1::SessionInfo& session : now.list.sessions()) queued += session.queued_commands();
  std::string text = absl::StrCat(
      "kilnd ", SafeText(server.info().version(), 20), " at ", server.address(), ", up ",
      DurationText(b.uptime_ms()), b.is_draining() ? ", DRAINING" : "", ", ",
      BytesText(b.resident_bytes()), " resident\n", b.sessions(), " sessions, ", queued,
      " commands queued, ", absl::StrFormat("%.0f", Rate(a.commands(), b.commands(), seconds)),
      " commands/s, in ", bytes(a.bytes_in(), b.bytes_in()), ", out ",
      bytes(a.bytes_out(), b.bytes_out()), "\ncache hits: graphs ",
      HitsText(b.graph_hits(), b.graph_hits() + b.graphs_scheduled()), ", kernels ",
      HitsText(kernel_hits, kernel_hits + b.kernels_compiled()), "; ",
      CountText(b.kernels_compiled()), " compiled, ", BytesText(b.cache_bytes()), " on disk\n\n");
  std::map<std::string, uint64_t> busy_before;
  for (const v1::DeviceStats& device : a.devices()) busy_before[device.name()] = device.busy_us();
  Table devices({"DEVICE", ">BUSY", ">USED", ">MEMORY"});
  for (const v1::DeviceStats& device : b.devices()) {
    devices.AddRow({SafeText(device.name(), 24),
                    BusyText(busy_before[device.name()], device.busy_us(), seconds),
                    BytesText(device.used_bytes()), BytesText(device.memory_bytes())});
  }
  return absl::StrCat(text, devices.Text());
}

// The busiest first.
std::string SessionsText(const Sample& before, const Sample& now) {
  struct Row {
    v1::SessionInfo before, now;
    auto order() const {
      return std::make_tuple(~(now.device_time_us() - before.device_time_us()),
                             ~(now.commands() - before.commands()), now.id());
    }
  };
  const double seconds = absl::ToDoubleSeconds(now.time - before.time);
  std::map<uint64_t, v1::SessionInfo> known;
  for (const v1::SessionInfo& session : before.list.sessions()) known[session.id()] = session;
  std::vector<Row> rows;
  for (const v1::SessionInfo& session : now.list.sessions()) {
    rows.push_back({known[session.id()], session});
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.order() < b.order(); });
  Table table({">SESSION", "CLIENT", ">BUSY", ">QUEUED", ">COMMANDS/S", ">FAILED", ">MEMORY",
               ">GRAPHS", ">AGE", "PEER"});
  for (const Row& row : rows) {
    table.AddRow({absl::StrCat(row.now.id()), SafeText(row.now.client_name(), 28),
                  BusyText(row.before.device_time_us(), row.now.device_time_us(), seconds),
                  CountText(row.now.queued_commands()),
                  absl::StrFormat("%.0f", Rate(row.before.commands(), row.now.commands(), seconds)),
                  CountText(row.now.failed_commands()), BytesText(row.now.device_bytes()),
                  CountText(row.now.num_graphs()), DurationText(row.now.age_ms()),
                  row.now.is_connected() ? SafeText(row.now.peer(), 28) : "(not connected)"});
  }
  return table.is_empty() ? "" : absl::StrCat("\n", table.Text());
}

volatile sig_atomic_t g_stop = 0;

// The whole screen, for as long as it lives; what was there before comes back.
class Screen {
 public:
  Screen() {
    struct sigaction action = {};
    action.sa_handler = [](int) { g_stop = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    // Another page, no cursor, no wrapping of lines.
    std::fputs("\x1b[?1049h\x1b[?25l\x1b[?7l", stdout);
  }
  ~Screen() {
    std::fputs("\x1b[?7h\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Show(const std::string& text) {
    struct winsize size = {};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
    int lines_left = known ? size.ws_row - 1 : 1000;
    std::string frame = "\x1b[H";
    for (size_t begin = 0; begin < text.size() && lines_left > 0; --lines_left) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      absl::StrAppend(&frame, text.substr(begin, end - begin), "\x1b[K\r\n");
      begin = end + 1;
    }
    std::fputs(absl::StrCat(frame, "\x1b[J").c_str(), stdout);
    std::fflush(stdout);
  }
};

absl::Status ShowTop(const Invocation& invocation, const TopFlags& flags) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  absl::StatusOr<Sample> before = Take(*server);
  if (!before.ok()) return before.status();
  std::unique_ptr<Screen> screen;
  if (!flags.once && isatty(STDOUT_FILENO) == 1) screen = std::make_unique<Screen>();
  while (true) {
    // Ends early by a signal.
    poll(nullptr, 0, static_cast<int>(flags.interval_s * 1000));
    if (g_stop != 0) return absl::OkStatus();
    absl::StatusOr<Sample> now = Take(*server);
    if (!now.ok()) return now.status();
    const std::string text =
        absl::StrCat(SummaryText(*before, *now, *server), SessionsText(*before, *now));
    if (screen != nullptr) {
      screen->Show(text);
    } else {
      std::printf("%s%s", text.c_str(), flags.once ? "" : "\n");
      std::fflush(stdout);
    }
    if (flags.once) return absl::OkStatus();
    before = std::move(now);
  }
}

}  // namespace

void AddTopCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* top = app.add_subcommand("top", "live: who uses what, queues, how busy, cache hits");
  auto flags = std::make_shared<TopFlags>();
  top->add_option("--interval", flags->interval_s, "seconds between two looks")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  top->add_flag("--once", flags->once, "one look, after an interval");
  top->footer(
      "BUSY is time of kernels; several devices or cores at a time are more than 100 %.\n"
      "Ctrl-C ends it. Into a file or pipe it writes one plain text after the other:\n"
      "  kilnctl top --interval 10 >> load.txt");
  top->callback([&invocation, flags] {
    invocation.action = [&invocation, flags] { return ShowTop(invocation, *flags); };
  });
}

}  // namespace kiln::ctl
