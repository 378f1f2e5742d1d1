#include "backends/interp/interp.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/interp/interpret.h"
#include "core/codegen/program_text.h"
#include "core/dtype/status.h"
#include "core/runtime/device.h"
#include "core/runtime/host_memory.h"
#include "core/runtime/host_scheduler.h"

namespace kiln::interp {
namespace {

using runtime::Executable;

// Immutable.
class InterpExecutable final : public Executable {
 public:
  InterpExecutable(runtime::ProgramSignature signature, Interpreter interpreter)
      : Executable(std::move(signature)), interpreter_(std::move(interpreter)) {}

  const Interpreter& interpreter() const { return interpreter_; }

 private:
  const Interpreter interpreter_;
};

absl::Status RunKernel(const Executable& executable, absl::Span<const runtime::BufferSlice> slices,
                       absl::Span<const int64_t> variables) {
  const auto& kernel = static_cast<const InterpExecutable&>(executable);
  std::vector<absl::Span<std::byte>> buffers;
  for (const runtime::BufferSlice& s : slices) {
    buffers.push_back({s.host(), static_cast<size_t>(s.bytes)});
  }
  for (int32_t core = 0; core < kernel.signature().num_cores; ++core) {
    KILN_RETURN_IF_ERROR(kernel.interpreter().Run(buffers, variables, core));
  }
  return absl::OkStatus();
}

// Everything that has a value in core/dtype/alu.h, and nothing that makes programs fast.
codegen::Target InterpTarget() {
  codegen::Target target = {.name = "interp", .has_lanes = false, .cores = 1};
  for (int op = 0; op < dtype::kNumAluOps; ++op) target.ops.Add(static_cast<Op>(op));
  target.ops.RemoveAll(Op::kMulAcc).RemoveAll(Op::kShr);
  target.has_float16 = target.has_bfloat16 = true;
  return target;
}

// Thread-safe.
class InterpDevice final : public runtime::Device {
 public:
  explicit InterpDevice(std::string name)
      : name_(std::move(name)),
        target_(InterpTarget()),
        memory_(*this, {}),
        executor_({.run_kernel = &RunKernel}) {}

  const std::string& name() const override { return name_; }
  std::string_view kind() const override { return "interp"; }
  const codegen::Target& target() const override { return target_; }
  runtime::Memory& memory() override { return memory_; }
  runtime::Queue& queue(runtime::QueueKind) override { return executor_.queue(); }
  std::shared_ptr<runtime::Queue> OpenQueue(runtime::QueueOptions options) override {
    return executor_.OpenQueue(std::move(options));
  }
  int64_t busy_ns() const override { return executor_.busy_ns(); }
  bool Reaches(const runtime::Device& other) const override { return other.kind() == kind(); }
  const std::string& compiler_id() const override { return compiler_id_; }

  absl::StatusOr<std::string> Compile(const codegen::Program& program) override {
    return codegen::ToText(program);
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Load(
      std::string_view object, runtime::ProgramSignature signature) override {
    uop::Graph graph;
    absl::StatusOr<codegen::Program> program = codegen::ParseProgram(graph, object);
    if (!program.ok()) return absl::DataLossError(program.status().message());
    KILN_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(graph, *program));
    return std::make_shared<const InterpExecutable>(std::move(signature), std::move(interpreter));
  }

 private:
  const std::string name_;
  const std::string compiler_id_ = "interp 1";
  const codegen::Target target_;
  runtime::HostMemory memory_;
  runtime::HostExecutor executor_;
};

}  // namespace

absl::Status RegisterInterpBackend(runtime::Registry& registry) {
  return registry.Register(
      {.kind = "interp",
       .num_devices = 1,
       .create = [](int, std::string name) -> absl::StatusOr<std::unique_ptr<runtime::Device>> {
         return std::make_unique<InterpDevice>(std::move(name));
       }});
}

}  // namespace kiln::interp
