#include "backends/llvm/compile.h"

#include <time.h>

#include <utility>

#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include "backends/llvm/emitter.h"
#include "backends/llvm/machine_code.h"
#include "core/dtype/status.h"

namespace kiln::backend_llvm {
namespace {

absl::Status EmitInto(const codegen::Program& program, const HostCpu& cpu,
                      const llvm::TargetMachine& machine, llvm::Module& module) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple().str());
  KILN_ASSIGN_OR_RETURN(const Plan plan, Plan::Of(program));
  KILN_RETURN_IF_ERROR(Emitter(program, plan, cpu, module).Run());
#ifndef NDEBUG
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(module, &stream)) return absl::InternalError(problems);
#endif
  return absl::OkStatus();
}

double ThreadMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Compiled {
  std::string object;
  CompileCosts costs;
};

absl::StatusOr<Compiled> Compile(const codegen::Program& program, const HostCpu& cpu) {
  const double start = ThreadMs();
  KILN_ASSIGN_OR_RETURN(const GeneratorLease generator, GeneratorLease::Take(cpu));
  Compiled result;
  double emitted = 0;
  {
    llvm::LLVMContext context;
    llvm::Module module("kiln", context);
    KILN_RETURN_IF_ERROR(EmitInto(program, cpu, generator->machine(), module));
    result.costs.ir_instructions = module.getInstructionCount();
    emitted = ThreadMs();
    result.object = generator->Run(module);
  }
  result.costs.object_bytes = static_cast<int64_t>(result.object.size());
  result.costs.emit_ms = emitted - start;
  result.costs.llvm_ms = ThreadMs() - emitted;
  return result;
}

absl::StatusOr<Compiled> CompileNamed(const codegen::Program& program, const HostCpu& cpu) {
  absl::StatusOr<Compiled> result = Compile(program, cpu);
  if (!result.ok()) return StatusBuilder(result.status()) << "while compiling " << program.name;
  return result;
}

}  // namespace

absl::StatusOr<std::string> CompileProgram(const codegen::Program& program, const HostCpu& cpu) {
  KILN_ASSIGN_OR_RETURN(Compiled result, CompileNamed(program, cpu));
  return std::move(result.object);
}

absl::StatusOr<CompileCosts> MeasureCompile(const codegen::Program& program, const HostCpu& cpu) {
  KILN_ASSIGN_OR_RETURN(const Compiled result, CompileNamed(program, cpu));
  return result.costs;
}

absl::StatusOr<std::string> ProgramToIr(const codegen::Program& program, const HostCpu& cpu) {
  KILN_ASSIGN_OR_RETURN(const GeneratorLease generator, GeneratorLease::Take(cpu));
  llvm::LLVMContext context;
  llvm::Module module("kiln", context);
  KILN_RETURN_IF_ERROR(EmitInto(program, cpu, generator->machine(), module));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace kiln::backend_llvm
