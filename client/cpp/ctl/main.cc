// kilnctl: what an operator asks of a kilnd.
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include <CLI/CLI.hpp>

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/output.h"
#include "client/cpp/memory.h"

namespace {

using namespace kiln::ctl;  // NOLINT: this is the program, not a library.

constexpr char kFooter[] = R"(
Examples:
  kilnctl top                                        who uses the daemon, and how
  kilnctl --address 127.0.0.1:7474 devices           of a daemon elsewhere
  kilnctl run mlp.json --input 0=x.npy --output 5=y.npy
  kilnctl profile out.json --seconds 5               then open it in ui.perfetto.dev

kilnctl COMMAND --help says more. Exit codes: 0 done, 1 refused or failed, 2 wrong command line,
3 no kilnd there.)";

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kNobodyThere = 3 };

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "kilnctl: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kUnavailable ? kNobodyThere : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  kiln::TuneMallocForBulkData();
  signal(SIGPIPE, SIG_DFL);  // kilnctl functions | head
  CLI::App app("kilnctl: looks after a kilnd and tries it out.", "kilnctl");
  app.footer(kFooter);
  app.set_version_flag("--version", absl::StrCat("kilnctl ", kVersion));
  app.require_subcommand(1);
  app.fallthrough();  // --address may stand after the subcommand.
  Invocation invocation = {.address = DefaultAddress(), .action = nullptr};
  app.add_option("--address", invocation.address, "where kilnd listens: unix:/path or host:port")
      ->envname("KILN_ADDRESS")
      ->capture_default_str()
      ->type_name("ADDRESS");
  AddStatusCommands(app, invocation);
  AddTopCommand(app, invocation);
  AddSessionCommands(app, invocation);
  AddFunctionsCommand(app, invocation);
  AddRunCommand(app, invocation);
  AddBenchCommand(app, invocation);
  AddProfileCommand(app, invocation);
  try {  // The library's way to end; it stops here.
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    // The library only says that a subcommand is missing where another word stands.
    const std::vector<std::string> unknown = app.remaining();
    if (app.get_subcommands().empty() && !unknown.empty()) {
      std::fprintf(stderr, "kilnctl: there is no command \"%s\"\nTry kilnctl --help.\n",
                   SafeText(unknown[0]).c_str());
      return kUsage;
    }
    std::fprintf(stderr, "kilnctl: %s\nTry kilnctl --help.\n", e.what());
    return kUsage;
  }
  const absl::Status status = invocation.action();
  if (!status.ok()) return Fail(status);
  if (std::fflush(stdout) != 0) return Fail(absl::ErrnoToStatus(errno, "can't write the output"));
  return kDone;
}
