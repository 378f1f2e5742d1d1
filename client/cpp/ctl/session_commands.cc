// sessions, end, drain: who is there, and how to get rid of them.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/output.h"

namespace kiln::ctl {
namespace {

absl::Status ShowSessions(const Invocation& invocation, bool as_json) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  absl::StatusOr<v1::ListSessionsResponse> list = server->ListSessions();
  if (!list.ok()) return list.status();
  if (as_json) {
    std::fputs(JsonText(*list).c_str(), stdout);
    return absl::OkStatus();
  }
  Table table({">SESSION", "CLIENT", "PEER", ">AGE", ">LEASE LEFT", ">MEMORY", ">BUFFERS",
               ">GRAPHS", ">QUEUED", ">COMMANDS", ">FAILED", ">DEVICE TIME"});
  for (const v1::SessionInfo& session : list->sessions()) {
    table.AddRow({absl::StrCat(session.id()), SafeText(session.client_name(), 32),
                  session.is_connected() ? SafeText(session.peer(), 32) : "(not connected)",
                  DurationText(session.age_ms()), DurationText(session.lease_left_ms()),
                  BytesText(session.device_bytes()), CountText(session.num_buffers()),
                  CountText(session.num_graphs()), CountText(session.queued_commands()),
                  CountText(session.commands()), CountText(session.failed_commands()),
                  DurationText(session.device_time_us() / 1000)});
  }
  std::fputs(table.is_empty() ? "no sessions\n" : table.Text().c_str(), stdout);
  return absl::OkStatus();
}

absl::Status EndSession(const Invocation& invocation, uint64_t id) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  v1::EndSessionRequest request;
  v1::EndSessionResponse response;
  request.set_id(id);
  absl::Status status = server->Call([&](grpc::ClientContext& context) {
    return server->admin().EndSession(&context, request, &response);
  });
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(
        absl::StrCat("there is no session ", id, ": kilnctl sessions lists those there are"));
  }
  if (!status.ok()) return status;
  std::printf("session %llu ended\n", static_cast<unsigned long long>(id));  // NOLINT
  return absl::OkStatus();
}

struct DrainFlags {
  double deadline_s = 0;
  bool wait = false;
};

// Until the daemon is gone.
absl::Status WaitForEnd(Server& server) {
  ProgressLine progress;
  const absl::Time began = absl::Now();
  while (true) {
    absl::StatusOr<v1::Stats> stats = server.GetStats();
    if (absl::IsUnavailable(stats.status())) return absl::OkStatus();
    // A call that the end has cut off.
    if (!stats.ok() && !absl::IsCancelled(stats.status())) return stats.status();
    if (stats.ok()) {
      progress.Show(absl::StrCat(
          stats->sessions(), " sessions left, ",
          DurationText(static_cast<uint64_t>(absl::ToInt64Milliseconds(absl::Now() - began)))));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

absl::Status Drain(const Invocation& invocation, const DrainFlags& flags) {
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  v1::DrainRequest request;
  v1::DrainResponse response;
  request.set_deadline_ms(static_cast<uint64_t>(flags.deadline_s * 1000));
  absl::Status status = server->Call([&](grpc::ClientContext& context) {
    return server->admin().Drain(&context, request, &response);
  });
  if (!status.ok()) return status;
  if (!flags.wait) {
    std::puts("draining: no new sessions; kilnd exits when all have closed, or at the deadline");
    return absl::OkStatus();
  }
  status = WaitForEnd(*server);
  if (status.ok()) std::puts("drained: kilnd has exited");
  return status;
}

}  // namespace

void AddSessionCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* sessions = app.add_subcommand("sessions", "who is connected and what they hold");
  auto as_json = std::make_shared<bool>(false);
  sessions->add_flag("--json", *as_json, "as JSON, for programs");
  sessions->footer(
      "A session whose client is gone stays until its lease runs out; then all it holds is freed.");
  sessions->callback([&invocation, as_json] {
    invocation.action = [&invocation, as_json] { return ShowSessions(invocation, *as_json); };
  });

  CLI::App* end = app.add_subcommand("end", "ends a session and frees what it holds");
  auto id = std::make_shared<uint64_t>(0);
  end->add_option("SESSION", *id, "number, as in kilnctl sessions")
      ->required()
      ->check([](const std::string& text) {  // The library takes -1 for a large number.
        return text[0] == '-' ? std::string("should be a number") : std::string();
      });
  end->footer("Its client is told CANCELLED, \"ended by an operator\".");
  end->callback([&invocation, id] {
    invocation.action = [&invocation, id] { return EndSession(invocation, *id); };
  });

  CLI::App* drain = app.add_subcommand("drain", "lets kilnd take no new sessions and exit");
  auto flags = std::make_shared<DrainFlags>();
  drain
      ->add_option("--deadline", flags->deadline_s,
                   "seconds until sessions that are left are ended; 0: as kilnd is configured")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("SECONDS");
  drain->add_flag("--wait", flags->wait, "return when kilnd is gone");
  drain->footer("Example, before an update:\n  kilnctl drain --deadline 60 --wait");
  drain->callback([&invocation, flags] {
    invocation.action = [&invocation, flags] { return Drain(invocation, *flags); };
  });
}

}  // namespace kiln::ctl
