// What a backend implements: devices, their memory and queues, and kernels made for them.
//
// A backend is one folder of backends/ with these interfaces, a codegen target, and one function
// Register<Name>Backend(Registry&) (registry.h). Devices whose memory is the host's and whose
// queues are threads find most of it ready in host_memory.h, host_timeline.h and host_queue.h.
//
//   KILN_ASSIGN_OR_RETURN(Device* device, registry.Get("cpu:0"));
//   KILN_ASSIGN_OR_RETURN(std::string object, device->Compile(program));  // Kept on disk.
//   KILN_ASSIGN_OR_RETURN(auto kernel, device->Load(object, SignatureOf(program)));
//   auto list = std::make_shared<CommandList>();
//   list->Exec(*kernel, buffers, variables);
//   Point done = device->queue(QueueKind::kCompute).Submit(wait, list, outcome);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/codegen/program.h"
#include "core/codegen/target.h"
#include "core/runtime/buffer.h"
#include "core/runtime/command_list.h"
#include "core/runtime/timeline.h"

namespace kiln::runtime {

// How a kernel is called: a codegen::Program without its code.
struct ProgramSignature {
  std::string name;
  std::vector<codegen::ProgramBuffer> buffers;      // By number of the PARAM.
  std::vector<codegen::ProgramVariable> variables;  // By name.
  int32_t num_cores = 1;                            // Run for each core id 0 .. num_cores-1.
};
ProgramSignature SignatureOf(const codegen::Program& program);

// A kernel that is ready to run. Immutable; implemented by devices. Must be destroyed before its
// device.
class Executable {
 public:
  explicit Executable(ProgramSignature signature) : signature_(std::move(signature)) {}
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  virtual ~Executable() = default;
  const ProgramSignature& signature() const { return signature_; }

 private:
  const ProgramSignature signature_;
};

enum class QueueKind { kCompute, kCopy };

// Runs command lists in the order of submission. Thread-safe.
class Queue {
 public:
  virtual ~Queue() = default;
  // The counter that submissions raise: 1, 2, 3...
  virtual Timeline& timeline() = 0;
  // Queues `commands`, which begin when the lists before and all of `wait` have passed. Returns the
  // point on timeline() that passes when they are done. Never blocks, never fails: `outcome` (may
  // be null) has the status then.
  // - If a dependency's outcome is an error, nothing is run and that is the outcome.
  // - If a command fails, those after it, but for Signal, are not run. The error names the kernel.
  // - A point passes and signals are given in any case. Then CommandList::DropRetained is called.
  virtual Point Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
                       std::shared_ptr<Outcome> outcome) = 0;
};

// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  // "cpu:0".
  virtual const std::string& name() const = 0;
  // "cpu": devices of a kind run each other's objects.
  virtual std::string_view kind() const = 0;
  virtual const codegen::Target& target() const = 0;
  virtual Memory& memory() = 0;
  // A device with one queue returns it for every kind.
  virtual Queue& queue(QueueKind kind) = 0;
  // Whether queues of this device can copy from and to the memory of `other`.
  virtual bool Reaches(const Device& other) const = 0;
  // Everything beside the program that the bytes of Compile depend on: compiler and its version,
  // CPU and its features, options. Part of the key of the disk cache.
  virtual const std::string& compiler_id() const = 0;
  // Machine code, in a form that may be kept and given to Load in any process with the same
  // compiler_id(). Pure: the same program gives the same bytes. Costs milliseconds.
  // Unimplemented names what the device cannot do.
  virtual absl::StatusOr<std::string> Compile(const codegen::Program& program) = 0;
  // Microseconds. The bytes are not used after the call. DataLoss if they are not what Compile
  // makes: caches check the content before, so that this can only be a device of another version.
  virtual absl::StatusOr<std::shared_ptr<const Executable>> Load(std::string_view object,
                                                                 ProgramSignature signature) = 0;
};

}  // namespace kiln::runtime
