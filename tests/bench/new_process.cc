#include "tests/bench/new_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/dtype/check.h"
#include "core/runtime/clock.h"
#include "tests/bench/workloads.h"

namespace kiln::bench {
namespace {

constexpr std::string_view kAsked = "--first_result_of";
constexpr char kFormat[] = "%lf %lf %lf %lf %lf";

double Ms(int64_t from_ns, int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-6; }

// Milliseconds since the last call.
class Stopwatch {
 public:
  double Lap() {
    const int64_t now = runtime::HostTimeNs();
    return Ms(std::exchange(last_, now), now);
  }

 private:
  int64_t last_ = runtime::HostTimeNs();
};

}  // namespace

FirstResultTimes FirstResultInNewProcess(const std::string& workload,
                                         const std::string& cache_folder) {
  int ends[2];
  KILN_CHECK(pipe(ends) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::array<std::string, 5> words = {"/proc/self/exe", std::string(kAsked), workload, cache_folder,
                                      std::to_string(runtime::HostTimeNs())};
  std::array<char*, 6> argv = {};
  std::transform(words.begin(), words.end(), argv.begin(), [](auto& word) { return word.data(); });
  pid_t child;
  KILN_CHECK(posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::FILE* told = fdopen(ends[0], "r");
  FirstResultTimes t;
  const int read = std::fscanf(told, kFormat, &t.start, &t.engine, &t.upload, &t.prepare, &t.run);
  std::fclose(told);
  int status = 0;
  KILN_CHECK(waitpid(child, &status, 0) == child && status == 0 && read == 5);
  return t;
}

void RunIfAsked(int argc, char** argv) {
  if (argc != 5 || argv[1] != kAsked) return;
  FirstResultTimes t = {.start = Ms(std::atoll(argv[4]), runtime::HostTimeNs())};
  const auto& all = Workloads();
  const auto workload =
      std::find_if(all.begin(), all.end(), [&](const Workload& w) { return w.name == argv[2]; });
  KILN_CHECK(workload != all.end());
  const tensor::TensorGraph graph = workload->graph();
  const auto contents = workload->contents(graph);

  Stopwatch watch;
  Machine machine(argv[3]);
  t.engine = watch.Lap();
  const auto inputs = machine.Upload(graph, contents);
  t.upload = watch.Lap();
  const auto runner = machine.engine().Prepare(graph);
  KILN_CHECK(runner.ok());
  t.prepare = watch.Lap();
  machine.Run(**runner, inputs, workload->variables);
  t.run = watch.Lap();
  KILN_CHECK(machine.engine().counters().kernels.compiled == 0);  // All were on disk.
  std::printf(kFormat, t.start, t.engine, t.upload, t.prepare, t.run);
  std::exit(0);
}

}  // namespace kiln::bench
