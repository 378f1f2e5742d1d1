#include "backends/null/null.h"

#include <memory>
#include <string>
#include <utility>

#include "core/runtime/device.h"
#include "core/runtime/host_memory.h"
#include "core/runtime/host_scheduler.h"

namespace kiln::null {
namespace {

using runtime::Executable;

constexpr std::string_view kObject = "null";

class NullExecutable final : public Executable {
 public:
  using Executable::Executable;
};

// Thread-safe.
class NullDevice final : public runtime::Device {
 public:
  explicit NullDevice(std::string name)
      : name_(std::move(name)),
        memory_(*this, {}),
        executor_({.run_kernel = [](const Executable&, absl::Span<const runtime::BufferSlice>,
                                    absl::Span<const int64_t>) { return absl::OkStatus(); }}) {
    target_.name = "null";
    target_.ops = {Op::kNeg,  Op::kRecip, Op::kSqrt,  Op::kTrunc, Op::kSub,
                   Op::kFDiv, Op::kMax,   Op::kCmpEq, Op::kShl,   Op::kShr};
    target_.has_float16 = target_.has_bfloat16 = true;
  }

  const std::string& name() const override { return name_; }
  std::string_view kind() const override { return "null"; }
  const codegen::Target& target() const override { return target_; }
  runtime::Memory& memory() override { return memory_; }
  runtime::Queue& queue(runtime::QueueKind) override { return executor_.queue(); }
  std::shared_ptr<runtime::Queue> OpenQueue(runtime::QueueOptions options) override {
    return executor_.OpenQueue(std::move(options));
  }
  int64_t busy_ns() const override { return executor_.busy_ns(); }
  bool Reaches(const runtime::Device& other) const override { return other.kind() == kind(); }
  const std::string& compiler_id() const override { return compiler_id_; }
  absl::StatusOr<std::string> Compile(const codegen::Program&) override {
    return std::string(kObject);
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Load(
      std::string_view object, runtime::ProgramSignature signature) override {
    if (object != kObject) return absl::DataLossError("not an object of the null device");
    return std::make_shared<const NullExecutable>(std::move(signature));
  }

 private:
  const std::string name_;
  const std::string compiler_id_ = "null";
  codegen::Target target_;
  runtime::HostMemory memory_;
  runtime::HostExecutor executor_;
};

}  // namespace

absl::Status RegisterNullBackend(runtime::Registry& registry) {
  return registry.Register(
      {.kind = "null",
       .num_devices = 1,
       .create = [](int, std::string name) -> absl::StatusOr<std::unique_ptr<runtime::Device>> {
         return std::make_unique<NullDevice>(std::move(name));
       }});
}

}  // namespace kiln::null
