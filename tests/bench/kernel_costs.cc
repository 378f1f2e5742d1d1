// Prints what the machine code of each kernel of the model workloads costs to make: a table for the
// one who wants it cheaper. Arguments: parts of the names of models; none: all. With "--passes", also
// the time of each pass of LLVM; with "--only=<kernel>", that kernel only, with its program and IR.
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "llvm/IR/PassTimingInfo.h"
#include "llvm/Pass.h"

#include "backends/cpu/cpu.h"
#include "backends/llvm/compile.h"
#include "core/codegen/lower_kernel.h"
#include "core/codegen/program_text.h"
#include "core/dtype/check.h"
#include "core/runtime/registry.h"
#include "tests/bench/bench_models.h"

namespace kiln::replay {
namespace {

using backend_llvm::CompileCosts;

constexpr char kDevice[] = "cpu:0";
// Each kernel so often; the quickest counts.
constexpr int kRepeats = 5;
// Each kernel runs so often, or for so long.
constexpr int kMaxRuns = 1000;
constexpr double kRunMs = 30;
constexpr uintptr_t kAlignment = 64;

CompileCosts CostsOf(const codegen::Program& program) {
  CompileCosts least;
  for (int i = 0; i < kRepeats; ++i) {
    const auto costs = backend_llvm::MeasureCompile(program, backend_llvm::ThisCpu());
    KILN_CHECK(costs.ok());
    if (i == 0 || costs->llvm_ms + costs->emit_ms < least.llvm_ms + least.emit_ms) least = *costs;
  }
  return least;
}

double ThreadMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// What all cores together need for one launch, on this thread: the least of several. Buffers are
// zero, variables at their maximum.
double RunMs(const codegen::Program& program) {
  const auto object = backend_llvm::CompileProgram(program, backend_llvm::ThisCpu());
  KILN_CHECK(object.ok());
  const auto kernel = backend_llvm::LoadObject(*object);
  KILN_CHECK(kernel.ok());
  std::vector<std::vector<std::max_align_t>> memory;
  std::vector<void*> buffers;
  for (const codegen::ProgramBuffer& b : program.buffers) {
    const int64_t bytes = b.elems * dtype::SizeBytes(b.dtype) + kAlignment;
    memory.emplace_back(static_cast<size_t>(bytes) / sizeof(std::max_align_t) + 1);
    const auto address = reinterpret_cast<uintptr_t>(memory.back().data());
    buffers.push_back(
        reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment));
  }
  std::vector<int64_t> variables;
  for (const codegen::ProgramVariable& v : program.variables) variables.push_back(v.max);
  double least = 0;
  const double start = ThreadMs();
  for (int i = 0; i < kMaxRuns && (i < 3 || ThreadMs() - start < kRunMs); ++i) {
    const double before = ThreadMs();
    for (int core = 0; core < program.num_cores; ++core) {
      (*kernel)->entry()(buffers.data(), variables.data(), core);
    }
    const double ms = ThreadMs() - before;
    if (i == 0 || ms < least) least = ms;
  }
  return least;
}

double Quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void Print(const Model& model, const codegen::Target& target, std::string_view only) {
  ImportedGraph graph = model.Graph();
  Graph& g = *graph.graph.graph;
  const auto schedule = schedule::MakeSchedule(g, graph.graph.sink, {.default_device = kDevice});
  KILN_CHECK(schedule.ok());
  std::printf("%s\n%8s %8s %8s %8s %8s  kernel\n", model.id.c_str(), "ir", "bytes", "emit ms",
              "llvm ms", "run ms");
  std::vector<double> ms;
  double total = 0, emit = 0, run = 0;
  for (uop::Ref kernel : KernelsOf(*schedule)) {
    const auto program = codegen::LowerKernel(g, kernel, target);
    KILN_CHECK(program.ok());
    if (!only.empty() && program->name != only) continue;
    const CompileCosts costs = CostsOf(*program);
    const double run_ms = RunMs(*program);
    run += run_ms;
    std::printf("%8ld %8ld %8.2f %8.2f %8.3f  %s %s\n", static_cast<long>(costs.ir_instructions),
                static_cast<long>(costs.object_bytes), costs.emit_ms, costs.llvm_ms, run_ms,
                program->name.c_str(), codegen::ToText(program->opts).c_str());
    if (!only.empty()) {
      std::printf("%s\n%s\n", codegen::ToText(*program).c_str(),
                  backend_llvm::ProgramToIr(*program, backend_llvm::ThisCpu())->c_str());
    }
    ms.push_back(costs.llvm_ms);
    total += costs.llvm_ms;
    emit += costs.emit_ms;
  }
  std::sort(ms.begin(), ms.end());
  std::printf(
      "%zu kernels; llvm ms: median %.2f, p90 %.2f, most %.2f, total %.1f; emit %.1f; run %.2f\n\n",
      ms.size(), Quantile(ms, 0.5), Quantile(ms, 0.9), ms.back(), total, emit, run);
}

void Run(int argc, char** argv) {
  std::vector<std::string_view> wanted;
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--passes") {
      llvm::TimePassesIsEnabled = true;
    } else if (arg.substr(0, 7) == "--only=") {
      only = arg.substr(7);
    } else {
      wanted.push_back(arg);
    }
  }
  runtime::Registry registry;
  KILN_CHECK(cpu::RegisterCpuBackend(registry, {}).ok());
  const codegen::Target target = (*registry.Get(kDevice))->target();
  for (const Model& model : Models()) {
    const bool is_wanted = std::any_of(wanted.begin(), wanted.end(), [&](std::string_view part) {
      return model.id.find(part) != std::string::npos;
    });
    if (wanted.empty() || is_wanted) Print(model, target, only);
  }
  if (llvm::TimePassesIsEnabled) llvm::reportAndResetTimings();
}

}  // namespace
}  // namespace kiln::replay

int main(int argc, char** argv) { kiln::replay::Run(argc, argv); }
