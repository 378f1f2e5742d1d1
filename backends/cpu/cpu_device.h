// A device that runs kernels on cores of this machine.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/worker_pool.h"
#include "core/runtime/device.h"
#include "core/runtime/host_memory.h"
#include "core/runtime/host_scheduler.h"

namespace kiln::cpu {

// Thread-safe. One thread and helpers run the kernels of all queues; num_cores of a program may be more
// than it has threads.
class CpuDevice final : public runtime::Device {
 public:
  struct Options {
    std::string name;
    std::vector<int> cores;    // At least one: one thread for each.
    int64_t memory_bytes = 0;  // 0: the memory of the machine.
    bool pin_threads = false;
  };
  explicit CpuDevice(Options options);

  const std::string& name() const override { return options_.name; }
  std::string_view kind() const override { return "cpu"; }
  const codegen::Target& target() const override { return target_; }
  runtime::Memory& memory() override { return memory_; }
  runtime::Queue& queue(runtime::QueueKind) override { return executor_.queue(); }
  std::shared_ptr<runtime::Queue> OpenQueue(runtime::QueueOptions options) override {
    return executor_.OpenQueue(std::move(options));
  }
  int64_t busy_ns() const override { return executor_.busy_ns(); }
  bool Reaches(const runtime::Device& other) const override;
  const std::string& compiler_id() const override { return compiler_id_; }
  absl::StatusOr<std::string> Compile(const codegen::Program& program) override;
  absl::StatusOr<std::shared_ptr<const runtime::Executable>> Load(
      std::string_view object, runtime::ProgramSignature signature) override;

 private:
  absl::Status Run(const runtime::Executable& executable,
                   absl::Span<const runtime::BufferSlice> buffers,
                   absl::Span<const int64_t> variables);
  // What thread i of the device does first.
  void StartThread(int i) const;

  const Options options_;
  const codegen::Target target_;
  const std::string compiler_id_;
  runtime::HostMemory memory_;
  WorkerPool pool_;  // Used by whoever runs a kernel: one at a time.
  runtime::HostExecutor executor_;
};

}  // namespace kiln::cpu
