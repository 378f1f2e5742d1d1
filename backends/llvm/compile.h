// Machine code for programs.
//
//   KILN_ASSIGN_OR_RETURN(std::string object, CompileProgram(program, ThisCpu()));
//   KILN_ASSIGN_OR_RETURN(std::unique_ptr<LoadedObject> kernel, LoadObject(object));
//   kernel->entry()(buffers, variables, 0);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "backends/llvm/host_cpu.h"
#include "core/codegen/program.h"

namespace kiln::backend_llvm {

// An object file for `cpu`. The same program gives the same bytes, wherever its graph has it.
// Thread-safe; costs milliseconds. Unimplemented names the node that has no code.
absl::StatusOr<std::string> CompileProgram(const codegen::Program& program, const HostCpu& cpu);

// The LLVM IR that CompileProgram makes: for people.
absl::StatusOr<std::string> ProgramToIr(const codegen::Program& program, const HostCpu& cpu);

// What the machine code of a program costs to make.
struct CompileCosts {
  int64_t ir_instructions = 0;  // That the emitter wrote.
  int64_t object_bytes = 0;
  double emit_ms = 0, llvm_ms = 0;  // Time of this thread: to the IR, and from there to the object.
};
absl::StatusOr<CompileCosts> MeasureCompile(const codegen::Program& program, const HostCpu& cpu);

// Runs one core: buffers by number of their PARAM, variables in the order of Program::variables.
// Buffers do not overlap.
using KernelFunction = void (*)(void* const* buffers, const int64_t* variables, int64_t core);

// Machine code in memory, freed with the object. Thread-safe.
class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  virtual KernelFunction entry() const = 0;
};

// Links what CompileProgram made on a machine with the same CompilerId. Thread-safe; costs tens of
// microseconds. DataLoss if the bytes are something else. The bytes are copied.
absl::StatusOr<std::unique_ptr<LoadedObject>> LoadObject(std::string_view object);

}  // namespace kiln::backend_llvm
