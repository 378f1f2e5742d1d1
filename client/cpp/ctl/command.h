// The commands of kilnctl. A file for each group adds its subcommands to the program.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <CLI/CLI.hpp>

#include "client/cpp/ctl/server.h"

namespace kiln::ctl {

// What the command line asks for.
struct Invocation {
  std::string address;
  std::function<absl::Status()> action;  // Of the subcommand that was given.

  // The daemon that it is about.
  absl::StatusOr<Server> Connect() const;
};

// `invocation` is borrowed until the action has run.
void AddStatusCommands(CLI::App& app, Invocation& invocation);    // devices, stats, cache
void AddSessionCommands(CLI::App& app, Invocation& invocation);   // sessions, end, drain
void AddTopCommand(CLI::App& app, Invocation& invocation);        // top
void AddFunctionsCommand(CLI::App& app, Invocation& invocation);  // functions
void AddRunCommand(CLI::App& app, Invocation& invocation);        // run
void AddBenchCommand(CLI::App& app, Invocation& invocation);      // bench
void AddProfileCommand(CLI::App& app, Invocation& invocation);    // profile

}  // namespace kiln::ctl
