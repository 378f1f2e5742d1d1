#include "backends/cpu/cpu_device.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

#include "backends/cpu/affinity.h"
#include "backends/llvm/compile.h"
#include "backends/llvm/host_cpu.h"
#include "core/dtype/status.h"

namespace kiln::cpu {
namespace {

using runtime::BufferSlice;
using runtime::Executable;

class CpuExecutable final : public Executable {
 public:
  CpuExecutable(runtime::ProgramSignature signature,
                std::unique_ptr<backend_llvm::LoadedObject> object)
      : Executable(std::move(signature)), object_(std::move(object)) {}
  backend_llvm::KernelFunction entry() const { return object_->entry(); }

 private:
  const std::unique_ptr<backend_llvm::LoadedObject> object_;
};

codegen::Target MakeTarget(int cores) {
  const backend_llvm::HostCpu& cpu = backend_llvm::ThisCpu();
  return {.name = absl::StrCat("cpu-", cpu.name, "-", cpu.vector_bytes, "-", cores),
          .ops = backend_llvm::OpsOf(cpu),
          .has_lanes = true,
          .vector_bytes = cpu.vector_bytes,
          .registers = cpu.registers,
          .cores = cores,
          .l1_bytes = cpu.l1_bytes,
          .l2_bytes = cpu.l2_bytes,
          .has_float16 = true,
          .has_bfloat16 = true};
}

absl::Status CheckArguments(const runtime::ProgramSignature& s,
                            absl::Span<const BufferSlice> buffers,
                            absl::Span<const int64_t> variables) {
  if (buffers.size() != s.buffers.size() || variables.size() != s.variables.size()) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", s.buffers.size(), " buffers and ",
                                                   s.variables.size(), " variables, not ",
                                                   buffers.size(), " and ", variables.size()));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const codegen::ProgramBuffer& b = s.buffers[i];
    const int64_t needed = b.elems * dtype::SizeBytes(b.dtype);
    // With variables, `elems` is what the largest values need, and the engine has checked these.
    if (s.variables.empty() && buffers[i].bytes < needed) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer ", i, " has ", buffers[i].bytes, " bytes, needed are ", needed));
    }
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    const codegen::ProgramVariable& v = s.variables[i];
    if (variables[i] < v.min || variables[i] > v.max) {
      return absl::InvalidArgumentError(absl::StrCat("variable \"", v.name, "\" is ", variables[i],
                                                     ", not within [", v.min, ", ", v.max, "]"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CpuDevice::CpuDevice(Options options)
    : options_(std::move(options)),
      target_(MakeTarget(static_cast<int>(options_.cores.size()))),
      compiler_id_(backend_llvm::CompilerId(backend_llvm::ThisCpu())),
      memory_(*this, {.total_bytes = options_.memory_bytes}),
      pool_(static_cast<int>(options_.cores.size()) - 1, [this](int i) { StartThread(i + 1); }),
      executor_({.run_kernel =
                     [this](const Executable& executable, absl::Span<const BufferSlice> buffers,
                            absl::Span<const int64_t> variables) {
                       return Run(executable, buffers, variables);
                     },
                 .on_start = [this] { StartThread(0); }}) {}

void CpuDevice::StartThread(int i) const {
  const absl::Span<const int> cores = options_.cores;
  SetUpThread(absl::StrCat(options_.name, "/", i),
              options_.pin_threads ? cores.subspan(static_cast<size_t>(i), 1) : cores);
}

bool CpuDevice::Reaches(const runtime::Device& other) const { return other.kind() == kind(); }

absl::StatusOr<std::string> CpuDevice::Compile(const codegen::Program& program) {
  return backend_llvm::CompileProgram(program, backend_llvm::ThisCpu());
}

absl::StatusOr<std::shared_ptr<const Executable>> CpuDevice::Load(
    std::string_view object, runtime::ProgramSignature signature) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<backend_llvm::LoadedObject> loaded,
                        backend_llvm::LoadObject(object));
  return std::make_shared<const CpuExecutable>(std::move(signature), std::move(loaded));
}

absl::Status CpuDevice::Run(const Executable& executable, absl::Span<const BufferSlice> buffers,
                            absl::Span<const int64_t> variables) {
  const runtime::ProgramSignature& signature = executable.signature();
  KILN_RETURN_IF_ERROR(CheckArguments(signature, buffers, variables));
  const backend_llvm::KernelFunction entry = static_cast<const CpuExecutable&>(executable).entry();
  absl::InlinedVector<void*, 16> pointers;
  for (const BufferSlice& slice : buffers) pointers.push_back(slice.host());
  pool_.Run(signature.num_cores, [&](int core) { entry(pointers.data(), variables.data(), core); });
  return absl::OkStatus();
}

}  // namespace kiln::cpu
