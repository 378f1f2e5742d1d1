// devices, stats, cache: what there is and what has been done.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/output.h"
#include "client/cpp/ctl/trace.h"

namespace kiln::ctl {
namespace {

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Without the features of the processor, which fill lines; --json has them.
std::string ArchText(const std::string& arch) {
  return SafeText(arch.substr(0, std::min(arch.find(" +"), arch.find(" -"))), 40);
}

absl::Status ShowDevices(const Invocation& invocation, bool as_json) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  const v1::ServerInfo& info = server->info();
  if (as_json) {
    Print("[\n");
    for (int i = 0; i < info.devices_size(); ++i) {
      if (i > 0) Print(",\n");
      Print(JsonText(info.devices(i)));
    }
    Print("]\n");
    return absl::OkStatus();
  }
  Table table({"DEVICE", "KIND", "ARCH", ">MEMORY", ">USED", ">USED %", ">ALIGNMENT", ""});
  for (const v1::DeviceInfo& device : info.devices()) {
    table.AddRow({SafeText(device.name()), SafeText(device.kind()), ArchText(device.arch()),
                  BytesText(device.memory_bytes()), BytesText(device.used_bytes()),
                  Percent(device.used_bytes(), device.memory_bytes()),
                  absl::StrCat(device.alignment()), device.is_default() ? "default" : ""});
  }
  Print(table.Text());
  return absl::OkStatus();
}

absl::Status ShowStats(const Invocation& invocation, bool as_json) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  absl::StatusOr<v1::Stats> stats = server->GetStats();
  if (!stats.ok()) return stats.status();
  if (as_json) {
    Print(JsonText(*stats));
    return absl::OkStatus();
  }
  Table table({"kilnd", SafeText(server->info().version(), 20)});
  table.AddRow({"protocol", absl::StrCat(server->info().protocol())});
  table.AddRow({"up for", DurationText(stats->uptime_ms())});
  table.AddRow({"state", stats->is_draining() ? "draining" : "serving"});
  table.AddRow({"sessions", CountText(stats->sessions())});
  table.AddRow({"commands", absl::StrCat(CountText(stats->commands()), " (",
                                         CountText(stats->failed_commands()), " failed)")});
  table.AddRow({"bytes in", BytesText(stats->bytes_in())});
  table.AddRow({"bytes out", BytesText(stats->bytes_out())});
  table.AddRow({"blobs", BytesText(stats->blob_bytes())});
  table.AddRow({"resident memory", BytesText(stats->resident_bytes())});
  Print(table.Text());
  Print("\n");
  Table devices({"DEVICE", ">MEMORY", ">USED", ">KERNEL TIME", ">BUSY"});
  for (const v1::DeviceStats& device : stats->devices()) {
    devices.AddRow({SafeText(device.name()), BytesText(device.memory_bytes()),
                    BytesText(device.used_bytes()), DurationText(device.busy_us() / 1000),
                    Percent(device.busy_us() / 1000, stats->uptime_ms())});
  }
  Print(devices.Text());
  return absl::OkStatus();
}

// What is asked of the caches, and what they had. One table for people and programs.
absl::Status ShowCache(const Invocation& invocation, bool as_json) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  absl::StatusOr<v1::Stats> stats = server->GetStats();
  if (!stats.ok()) return stats.status();
  const uint64_t graphs = stats->graph_hits() + stats->graphs_scheduled();
  const uint64_t memory_hits = stats->kernel_memory_hits(), disk_hits = stats->kernel_disk_hits();
  const uint64_t kernels = memory_hits + disk_hits + stats->kernels_compiled();
  if (as_json) {
    // The fields of Stats that are about caches, by their names.
    Print(absl::StrCat(
        "{\n \"graphs_scheduled\": \"", stats->graphs_scheduled(), "\",\n \"graph_hits\": \"",
        stats->graph_hits(), "\",\n \"kernels_compiled\": \"", stats->kernels_compiled(),
        "\",\n \"kernel_memory_hits\": \"", memory_hits, "\",\n \"kernel_disk_hits\": \"",
        disk_hits, "\",\n \"cache_bytes\": \"", stats->cache_bytes(), "\",\n \"cache_status\": \"",
        EscapeJson(stats->cache_status()), "\"\n}\n"));
    return absl::OkStatus();
  }
  Table table({"SINCE THE START", ">COUNT", ">SHARE"});
  const auto row = [&](const char* what, uint64_t count, uint64_t of) {
    table.AddRow({what, CountText(count), Percent(count, of)});
  };
  row("graphs known", stats->graph_hits(), graphs);
  row("graphs scheduled", stats->graphs_scheduled(), graphs);
  row("kernels found in memory", memory_hits, kernels);
  row("kernels loaded from disk", disk_hits, kernels);
  row("kernels compiled", stats->kernels_compiled(), kernels);
  Print(table.Text());
  const std::string& why_not = stats->cache_status();
  Print(why_not.empty() ? absl::StrCat("\nOn disk: ", BytesText(stats->cache_bytes()),
                                       " of compiled kernels.\n")
                        : absl::StrCat("\nOn disk: nothing is kept, ", SafeText(why_not), ".\n"));
  return absl::OkStatus();
}

}  // namespace

void AddStatusCommands(CLI::App& app, Invocation& invocation) {
  const auto add = [&](const char* name, const char* doc, const char* footer,
                       absl::Status (*show)(const Invocation&, bool)) {
    CLI::App* command = app.add_subcommand(name, doc);
    auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "as JSON, for programs");
    command->footer(footer);
    command->callback([&invocation, as_json, show] {
      invocation.action = [&invocation, as_json, show] { return show(invocation, *as_json); };
    });
  };
  add("devices", "the devices and their memory",
      "Example:\n  kilnctl devices --json | jq -r '.[].name'", ShowDevices);
  add("stats", "what the daemon has done since its start",
      "BUSY is the time that kernels have run, of the time since the start.", ShowStats);
  add("cache", "what the caches of graphs and kernels have saved",
      "A graph that is known is neither scheduled nor compiled. A kernel that is on disk (kilnd\n"
      "--cache FOLDER) need not be compiled again after a restart.",
      ShowCache);
}

}  // namespace kiln::ctl
