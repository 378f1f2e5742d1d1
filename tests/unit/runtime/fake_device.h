// A device whose kernels do what a test says.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/device.h"
#include "core/runtime/host_memory.h"
#include "core/runtime/host_scheduler.h"
#include "core/runtime/registry.h"

namespace kiln::runtime {

// Thread-safe. Kernels do nothing but remember the value of their first variable.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::string name)
      : name_(std::move(name)),
        memory_(*this, {}),
        executor_({.run_kernel =
                       [this](const Executable& kernel, absl::Span<const BufferSlice> buffers,
                              absl::Span<const int64_t> variables) {
                         return Run(kernel, buffers, variables);
                       },
                   .clock_ns = &FakeDevice::TimeNs}) {}

  const std::string& name() const override { return name_; }
  std::string_view kind() const override { return "fake"; }
  const codegen::Target& target() const override { return target_; }
  Memory& memory() override { return memory_; }
  Queue& queue(QueueKind) override { return executor_.queue(); }
  std::shared_ptr<Queue> OpenQueue(QueueOptions options) override {
    return executor_.OpenQueue(std::move(options));
  }
  int64_t busy_ns() const override { return executor_.busy_ns(); }
  bool Reaches(const Device&) const override { return true; }
  const std::string& compiler_id() const override { return compiler_id_; }
  absl::StatusOr<std::string> Compile(const codegen::Program& program) override {
    ++num_compiled;
    if (program.name == fail_to_compile) return absl::UnimplementedError("can't");
    return program.name + object_suffix;
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Load(std::string_view object,
                                                         ProgramSignature signature) override {
    ++num_loaded;
    if (object != signature.name + object_suffix) return absl::DataLossError("not an object");
    return std::make_shared<const Executable>(std::move(signature));
  }

  static std::shared_ptr<const Executable> Kernel(std::string name, int num_buffers,
                                                  int num_variables) {
    ProgramSignature s = {.name = std::move(name)};
    s.buffers.resize(static_cast<size_t>(num_buffers));
    s.variables.resize(static_cast<size_t>(num_variables));
    return std::make_shared<const Executable>(std::move(s));
  }

  // ** what a test sets before, and sees after **
  // The time by which queues of all these devices take turns; negative: that of the machine. Set
  // while they are idle.
  static inline std::atomic<int64_t> fake_time_ns = -1;
  static int64_t TimeNs() {
    const int64_t ns = fake_time_ns;
    return ns >= 0 ? ns : HostTimeNs();
  }
  using OnRun = std::function<absl::Status(const Executable&, absl::Span<const BufferSlice>)>;
  void SetOnRun(OnRun on_run) {
    absl::MutexLock lock(&mu_);
    on_run_ = std::move(on_run);
  }
  void FailOn(int64_t value) {
    absl::MutexLock lock(&mu_);
    fail_on_ = value;
  }
  std::vector<int64_t> values() const {
    absl::MutexLock lock(&mu_);
    return values_;
  }
  int num_runs() const { return *num_runs_; }
  int num_queues() const { return executor_.num_queues(); }
  std::shared_ptr<std::atomic<int>> counter() const { return num_runs_; }
  std::atomic<int> num_compiled = 0, num_loaded = 0;
  std::string fail_to_compile, object_suffix;

 private:
  absl::Status Run(const Executable& kernel, absl::Span<const BufferSlice> buffers,
                   absl::Span<const int64_t> variables) {
    ++*num_runs_;
    OnRun on_run;
    {
      absl::MutexLock lock(&mu_);
      if (!variables.empty()) values_.push_back(variables[0]);
      if (!variables.empty() && variables[0] == fail_on_) return absl::InternalError("broken");
      on_run = on_run_;
    }
    return on_run ? on_run(kernel, buffers) : absl::OkStatus();
  }

  const std::string name_;
  const std::string compiler_id_ = "fake 1";
  const codegen::Target target_ = {.name = "fake", .has_lanes = false};
  mutable absl::Mutex mu_;
  OnRun on_run_ ABSL_GUARDED_BY(mu_);
  int64_t fail_on_ ABSL_GUARDED_BY(mu_) = -1;
  std::vector<int64_t> values_ ABSL_GUARDED_BY(mu_);
  const std::shared_ptr<std::atomic<int>> num_runs_ = std::make_shared<std::atomic<int>>(0);
  HostMemory memory_;
  HostExecutor executor_;
};

// Registers `num_devices` of them. Pre: the registry has no kind "fake".
inline void RegisterFakeBackend(Registry& registry, int num_devices = 1) {
  const absl::Status status = registry.Register(
      {.kind = "fake",
       .num_devices = num_devices,
       .create = [](int, std::string name) -> absl::StatusOr<std::unique_ptr<Device>> {
         return std::make_unique<FakeDevice>(std::move(name));
       }});
  if (!status.ok()) std::abort();
}

}  // namespace kiln::runtime
