// profile: what the daemon does for some seconds, as a file for a viewer.
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/output.h"
#include "client/cpp/ctl/trace.h"
#include "client/cpp/internal/channel.h"

namespace kiln::ctl {
namespace {

struct ProfileFlags {
  std::string path;
  double seconds = 10;
  size_t max_events = 1'000'000;
};

// Events until the time is over or the trace is full.
absl::Status Collect(Server& server, const ProfileFlags& flags, Trace& trace) {
  v1::ProfileRequest request;
  request.set_duration_ms(static_cast<uint64_t>(flags.seconds * 1000));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(flags.seconds + 30)));
  const auto reader = server.admin().Profile(&context, request);
  ProgressLine progress;
  const absl::Time began = absl::Now();
  v1::ProfileEvents events;
  while (!trace.is_full() && reader->Read(&events)) {
    trace.Add(events);
    const absl::Duration passed = absl::Now() - began;
    progress.Show(
        absl::StrCat(DurationText(static_cast<uint64_t>(absl::ToInt64Milliseconds(passed))), " of ",
                     flags.seconds, " s, ", CountText(trace.num_events()), " events"));
  }
  if (trace.is_full()) {
    context.TryCancel();
    reader->Finish();
    return absl::OkStatus();
  }
  return server.Explain(client::FromGrpc(reader->Finish()));
}

absl::Status Profile(const Invocation& invocation, const ProfileFlags& flags) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  // Whether it can be written is told before the wait; what is in it is replaced after it.
  std::ofstream file(flags.path, std::ios::binary | std::ios::app);
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("can't create ", flags.path));
  file.close();
  Trace trace(flags.max_events);
  absl::Status status = Collect(*server, flags, trace);
  if (!status.ok()) return status;
  file.open(flags.path, std::ios::binary | std::ios::trunc);
  trace.Write(file);
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("can't write ", flags.path));
  std::printf("%s: %s events; open it in ui.perfetto.dev or chrome://tracing\n", flags.path.c_str(),
              CountText(trace.num_events()).c_str());
  if (trace.is_full()) {
    std::fprintf(
        stderr,
        "kilnctl: the trace is full and ends early: take fewer seconds, or more --max-events\n");
  } else if (trace.num_dropped() > 0) {
    std::fprintf(stderr, "kilnctl: %s events are missing, they came too fast\n",
                 CountText(trace.num_dropped()).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

void AddProfileCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* profile = app.add_subcommand(
      "profile", "records commands, transfers, compiles and kernels for a while");
  auto flags = std::make_shared<ProfileFlags>();
  profile->add_option("OUT.json", flags->path, "file to write")->required();
  profile->add_option("--seconds", flags->seconds, "how long")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  profile->add_option("--max-events", flags->max_events, "end early at so many")
      ->check(CLI::Range(size_t{1}, size_t{20'000'000}))
      ->capture_default_str();
  profile->footer(
      "The file is a trace of Chrome: open it in ui.perfetto.dev. Each session is a process with "
      "its\n"
      "commands, transfers and compiles; each device one with its kernels.\n"
      "Example:\n  kilnctl profile out.json --seconds 3");
  profile->callback([&invocation, flags] {
    invocation.action = [&invocation, flags] { return Profile(invocation, *flags); };
  });
}

}  // namespace kiln::ctl
