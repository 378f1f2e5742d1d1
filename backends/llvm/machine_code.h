// Object files from LLVM IR. Includes LLVM headers: for the .cc files of this folder.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include "backends/llvm/host_cpu.h"

namespace kiln::backend_llvm {

// LLVM's code generator for one CPU, ready to run. Making one costs as much as the code of a small
// kernel, so they are used again: see GeneratorLease. Confined to one compile job at a time.
class CodeGenerator {
 public:
  static absl::StatusOr<std::unique_ptr<CodeGenerator>> Make(const HostCpu& cpu);

  const llvm::TargetMachine& machine() const { return *machine_; }
  // The object file of `module`, which must be one of emitter.h, with the data layout and triple of
  // the machine. Equal modules give equal bytes, whatever was generated before.
  std::string Run(llvm::Module& module);

 private:
  explicit CodeGenerator(std::unique_ptr<llvm::TargetMachine> machine)
      : machine_(std::move(machine)), stream_(bytes_) {}

  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_;
  llvm::legacy::PassManager passes_;
};

// A generator that no other thread uses, returned when this is destroyed. Thread-safe.
class GeneratorLease {
 public:
  static absl::StatusOr<GeneratorLease> Take(const HostCpu& cpu);
  GeneratorLease(GeneratorLease&&) = default;
  GeneratorLease& operator=(GeneratorLease&&) = delete;
  ~GeneratorLease();

  CodeGenerator& operator*() const { return *generator_; }
  CodeGenerator* operator->() const { return generator_.get(); }

 private:
  GeneratorLease(std::string cpu, std::unique_ptr<CodeGenerator> generator)
      : cpu_(std::move(cpu)), generator_(std::move(generator)) {}

  std::string cpu_;  // CompilerId.
  std::unique_ptr<CodeGenerator> generator_;
};

}  // namespace kiln::backend_llvm
