#include "tests/wire/support/kilnd_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kiln::wire {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kiln-wire-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    std::vector<std::string> arguments) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return absl::InternalError("pipe2 failed");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::InternalError("fork failed");
  if (pid == 0) {  // Only what is safe after a fork of many threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    dup2(pipe_ends[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, pipe_ends[0]));
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
  close(out_);
}

std::string ChildProcess::ReadLine() {
  std::string line;
  char c;
  for (;;) {
    const ssize_t n = read(out_, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') return line;
    line.push_back(c);
  }
}

void ChildProcess::Signal(int number) const { kill(pid_, number); }

int ChildProcess::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

absl::StatusOr<std::unique_ptr<Kilnd>> Kilnd::Start(const KilndOptions& options) {
  std::unique_ptr<Kilnd> kilnd(new Kilnd);
  const std::string& folder = kilnd->folder_.path();
  std::vector<std::string> arguments = {
      KILND_PATH,
      absl::StrCat("--listen=", options.tcp ? "127.0.0.1:0" : absl::StrCat("unix:", folder, "/s")),
      absl::StrCat("--cache=", folder, "/cache"), absl::StrCat("--blobs=", folder, "/blobs")};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(arguments);
  if (!process.ok()) return process.status();
  kilnd->process_ = *std::move(process);
  const std::string line = kilnd->process_->ReadLine();
  absl::string_view address = line;
  if (!absl::ConsumePrefix(&address, "listening on ")) {
    return absl::UnavailableError(
        absl::StrCat(KILND_PATH, " did not say where it listens, but \"", line, "\""));
  }
  kilnd->address_ = std::string(address);
  return kilnd;
}

}  // namespace kiln::wire
