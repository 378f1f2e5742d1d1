#include "backends/llvm/machine_code.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include "core/dtype/status.h"

namespace kiln::backend_llvm {
namespace {

// Passes that bring nothing to a kernel, by their name on LLVM's command line, or else in words. Each
// costs microseconds for itself and for analyses that nobody else asks for.
constexpr std::string_view kUselessPasses[] = {
    // What the emitter does not write: calls, exceptions, atomics, memory on the stack, wide
    // divisions, library functions, AMX tiles, thread-local variables, garbage collection.
    "Local Dynamic TLS Access Clean-up",
    "X86 DynAlloca Expander",
    "atomic-expand",
    "callbrprepare",
    "dwarf-eh-prepare",
    "expand-large-div-rem",
    "expand-large-fp-convert",
    "expand-memcmp",
    "expandvp",
    "fixup-statepoint-caller-saved",
    "gc-analysis",
    "gc-lowering",
    "indirectbr-expand",
    "localstackalloc",
    "lower-amx-intrinsics",
    "lower-amx-type",
    "lower-constant-intrinsics",
    "lowertilecopy",
    "mergeicmps",
    "partially-inline-libcalls",
    "replace-with-veclib",
    "safe-stack",
    "shadow-stack-gc-lowering",
    "stack-coloring",
    "stack-protector",
    "tilepreconfig",
    "tlshoist",
    "x86-cf-opt",
    "x86argumentstackrebase",
    // Hardening, tracing, debug information, other CPUs.
    "X86 Atom pad short functions",
    "X86 Discriminate Memory Operands",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 Insert Cache Prefetches",
    "X86 Windows Fixup Buffer Security Check",
    "X86 insert wait instruction",
    "cfi-instr-inserter",
    "fentry-insert",
    "funclet-layout",
    "kcfi",
    "livedebugvalues",
    "machine-sanmd",
    "patchable-function",
    "post-inline-ee-instrument",
    "pseudo-probe-inserter",
    "removeredundantdebugvalues",
    "stack-frame-layout",
    "stackmap-liveness",
    "x86-lvi-load",
    "x86-lvi-ret",
    "x86-return-thunks",
    "x86-seses",
    "x86-slh",
    "xray-instrumentation",
    // What is no better for it: loops count up and addresses have displacements already, values are
    // where they belong, and nothing is left to be merged, duplicated or hoisted.
    "branch-folder",
    "canon-freeze",
    "consthoist",
    "detect-dead-lanes",
    "early-ifcvt",
    "early-tailduplication",
    "init-undef",
    "interleaved-access",
    "loop-reduce",
    "lrshrink",
    "machine-combiner",
    "machine-latecleanup",
    "machinelicm",
    "opt-phis",
    "post-RA-sched",
    "postra-machine-sink",
    "regallocscoringpass",
    "rename-independent-subregs",
    "shrink-wrap",
    "stack-slot-coloring",
    "tailduplication",
    "tbaa",
    "x86-avoid-SFB",
    "x86-cmov-conversion",
    "x86-domain-reassignment",
    "x86-fixup-LEAs",
    "x86-fixup-bw-insts",
    "x86-fixup-setcc",
    "x86-optimize-LEAs",
    "x86-partial-reduction",
};

std::string_view NameOf(const llvm::Pass& pass) {
  const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass.getPassID());
  const llvm::StringRef name = info != nullptr && !info->getPassArgument().empty()
                                   ? info->getPassArgument()
                                   : pass.getPassName();
  return {name.data(), name.size()};
}

// Passes on what is to be run.
class UsefulPasses final : public llvm::legacy::PassManagerBase {
 public:
  explicit UsefulPasses(llvm::legacy::PassManager& to) : to_(to) {}
  ~UsefulPasses() override { Flush(/*is_useless=*/false); }

  void add(llvm::Pass* pass) override {
    const std::string_view name = NameOf(*pass);
    // X86 has a whole register allocation for AMX tiles alone, just before their configuration.
    const bool configures_tiles = name == "tileconfig";
    Flush(configures_tiles);
    const bool is_useless =
        configures_tiles || std::find(std::begin(kUselessPasses), std::end(kUselessPasses), name) !=
                                std::end(kUselessPasses);
    if (is_useless) {
      delete pass;
    } else if (name == "greedy") {
      allocator_ = pass;
    } else {
      to_.add(pass);
    }
  }

 private:
  void Flush(bool is_useless) {
    if (allocator_ == nullptr) return;
    if (is_useless) {
      delete allocator_;
    } else {
      to_.add(allocator_);
    }
    allocator_ = nullptr;
  }

  llvm::legacy::PassManager& to_;
  llvm::Pass* allocator_ = nullptr;  // Owned: the last one, until it is known what follows.
};

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const HostCpu& cpu) {
  static const bool initialised = [] {
    return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  }();
  if (!initialised) return absl::InternalError("LLVM has no native target");
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return absl::InternalError(error);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu.name, cpu.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, /*JIT=*/true));
  if (machine == nullptr)
    return absl::InternalError(absl::StrCat("no target machine for ", triple));
  return machine;
}

// Generators that no thread uses at the moment. Thread-safe.
class GeneratorPool {
 public:
  // Null: there is none.
  std::unique_ptr<CodeGenerator> Take(const std::string& cpu) {
    absl::MutexLock lock(&mu_);
    std::vector<std::unique_ptr<CodeGenerator>>& free = free_[cpu];
    if (free.empty()) return nullptr;
    std::unique_ptr<CodeGenerator> generator = std::move(free.back());
    free.pop_back();
    return generator;
  }
  void Return(const std::string& cpu, std::unique_ptr<CodeGenerator> generator) {
    absl::MutexLock lock(&mu_);
    free_[cpu].push_back(std::move(generator));
  }

 private:
  absl::Mutex mu_;
  std::map<std::string, std::vector<std::unique_ptr<CodeGenerator>>> free_ ABSL_GUARDED_BY(mu_);
};

GeneratorPool& Pool() {
  static auto* const pool = new GeneratorPool();
  return *pool;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CodeGenerator>> CodeGenerator::Make(const HostCpu& cpu) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeMachine(cpu));
  std::unique_ptr<CodeGenerator> generator(new CodeGenerator(std::move(machine)));
  UsefulPasses passes(generator->passes_);
  llvm::MCContext* mc = nullptr;
  if (generator->machine_->addPassesToEmitMC(passes, mc, generator->stream_,
                                             /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM makes no object files for this target");
  }
  return generator;
}

std::string CodeGenerator::Run(llvm::Module& module) {
  passes_.run(module);
  std::string object(bytes_.begin(), bytes_.end());
  bytes_.clear();
  return object;
}

absl::StatusOr<GeneratorLease> GeneratorLease::Take(const HostCpu& cpu) {
  std::string id = CompilerId(cpu);
  std::unique_ptr<CodeGenerator> generator = Pool().Take(id);
  if (generator == nullptr) {
    KILN_ASSIGN_OR_RETURN(generator, CodeGenerator::Make(cpu));
  }
  return GeneratorLease(std::move(id), std::move(generator));
}

GeneratorLease::~GeneratorLease() {
  if (generator_ != nullptr) Pool().Return(cpu_, std::move(generator_));
}

}  // namespace kiln::backend_llvm
