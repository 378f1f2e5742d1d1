#include "backends/llvm/compile.h"

#include <map>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include "backends/llvm/emitter.h"
#include "core/dtype/status.h"

namespace kiln::backend_llvm {
namespace {

using Machine = std::unique_ptr<llvm::TargetMachine>;

absl::StatusOr<Machine> MakeMachine(const HostCpu& cpu) {
  static const bool initialised = [] {
    return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  }();
  if (!initialised) return absl::InternalError("LLVM has no native target");
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return absl::InternalError(error);
  Machine machine(target->createTargetMachine(triple, cpu.name, cpu.features, llvm::TargetOptions(),
                                              llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                              llvm::CodeGenOptLevel::Less, /*JIT=*/true));
  if (machine == nullptr)
    return absl::InternalError(absl::StrCat("no target machine for ", triple));
  return machine;
}

// Machines that no thread uses at the moment: making one costs half of a millisecond. Thread-safe.
class MachinePool {
 public:
  absl::StatusOr<Machine> Take(const HostCpu& cpu) {
    {
      absl::MutexLock lock(&mu_);
      std::vector<Machine>& free = free_[CompilerId(cpu)];
      if (!free.empty()) {
        Machine machine = std::move(free.back());
        free.pop_back();
        return machine;
      }
    }
    return MakeMachine(cpu);
  }
  void Return(const HostCpu& cpu, Machine machine) {
    absl::MutexLock lock(&mu_);
    free_[CompilerId(cpu)].push_back(std::move(machine));
  }

 private:
  absl::Mutex mu_;
  std::map<std::string, std::vector<Machine>> free_ ABSL_GUARDED_BY(mu_);
};

MachinePool& Pool() {
  static auto* const pool = new MachinePool();
  return *pool;
}

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

absl::StatusOr<std::string> Compile(const codegen::Program& program, const HostCpu& cpu,
                                    llvm::TargetMachine& machine) {
  llvm::LLVMContext context;
  llvm::Module module("kiln", context);
  KILN_RETURN_IF_ERROR(EmitInto(program, cpu, machine, module));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* mc = nullptr;
  if (machine.addPassesToEmitMC(passes, mc, stream, /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM makes no object files for this target");
  }
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

absl::StatusOr<std::string> CompileProgram(const codegen::Program& program, const HostCpu& cpu) {
  KILN_ASSIGN_OR_RETURN(Machine machine, Pool().Take(cpu));
  absl::StatusOr<std::string> object = Compile(program, cpu, *machine);
  Pool().Return(cpu, std::move(machine));
  if (!object.ok()) return StatusBuilder(object.status()) << "while compiling " << program.name;
  return object;
}

absl::StatusOr<std::string> ProgramToIr(const codegen::Program& program, const HostCpu& cpu) {
  KILN_ASSIGN_OR_RETURN(const Machine machine, MakeMachine(cpu));
  llvm::LLVMContext context;
  llvm::Module module("kiln", context);
  KILN_RETURN_IF_ERROR(EmitInto(program, cpu, *machine, module));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace kiln::backend_llvm
