// A kilnd of a test's own, and other processes that a test needs.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::wire {

// A folder that goes away with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A child process; killed when destroyed, and when this process dies.
class ChildProcess {
 public:
  // Starts `arguments[0]` with the others. Its standard output can be read by ReadLine.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(std::vector<std::string> arguments);
  ~ChildProcess();

  // The next line of its output, without the end; empty: there is none any more.
  std::string ReadLine();
  void Signal(int number) const;
  // Waits for its end; the status is that of waitpid.
  int Wait();
  pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, int out) : pid_(pid), out_(out) {}
  pid_t pid_;
  int out_;
};

struct KilndOptions {
  bool tcp = false;  // 127.0.0.1 and a free port instead of a unix socket in a folder of its own.
  std::vector<std::string> arguments = {};  // Besides --listen.
};

// The kilnd of this build, listening.
class Kilnd {
 public:
  // With the path of the binary that CMake knows.
  static absl::StatusOr<std::unique_ptr<Kilnd>> Start(const KilndOptions& options = {});

  // For Session::Connect.
  const std::string& address() const { return address_; }
  ChildProcess& process() { return *process_; }

 private:
  Kilnd() = default;
  TempFolder folder_;
  std::unique_ptr<ChildProcess> process_;
  std::string address_;
};

}  // namespace kiln::wire
