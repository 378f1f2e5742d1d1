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
#include "core/runtime/host_timeline.h"
#include "core/runtime/profiler.h"
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

enum class SubmitMode {
  kQueued,  // Begins as soon as the device is free for it.
  kHeld,    // Begins with the next RunHere, at the latest, which has to follow at once.
};

// What a queue has to do, and what it has cost. A snapshot.
struct QueueLoad {
  int64_t jobs = 0;       // Submissions whose points have not passed.
  int64_t commands = 0;   // Theirs.
  int64_t device_ns = 0;  // Device time since the queue was opened.
};

// Runs command lists in the order of submission. Thread-safe. Queues of one device take turns, one
// command at a time: the one that has kept the device for the least time goes first, of those that
// have something to do and need not wait.
class Queue {
 public:
  virtual ~Queue() = default;
  // The counter that submissions raise. It lives as long as the device, and starts anywhere.
  virtual Timeline& timeline() = 0;
  // Queues `commands`, which begin when the lists before and all of `wait` have passed. Returns the
  // point on timeline() that passes when they are done: the one after that of the submission
  // before. Never blocks, never fails: `outcome` (may be null) has the status then.
  // - If a dependency's outcome is an error, nothing is run and that is the outcome.
  // - If a command fails, those after it, but for Signal, are not run. The error names the kernel.
  // - A point passes and signals are given in any case. Then CommandList::DropRetained is called.
  virtual Point Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
                       std::shared_ptr<Outcome> outcome, SubmitMode mode) = 0;
  Point Submit(absl::Span<const Dependency> wait, std::shared_ptr<CommandList> commands,
               std::shared_ptr<Outcome> outcome) {
    return Submit(wait, std::move(commands), std::move(outcome), SubmitMode::kQueued);
  }
  // Begins what was submitted with kHeld. If the device has nothing else to do and nothing has to
  // be waited for, this thread runs it, up to `until`, which saves the time in which a thread of
  // the device wakes up (15-25 us); it stops early if another queue's turn comes. Callers hold no
  // locks that callbacks of timelines (Timeline::Notify) take.
  virtual void RunHere(Point until) = 0;
  // Ends what is queued: commands that have not begun are not run, `status` (an error) is the
  // outcome. A list that runs stops at the next command. What is submitted later runs as usual.
  // Points of what is cancelled pass without waiting for its dependencies, with EndCancelled at the
  // latest, which has to follow at once; for a list that runs, soon after.
  virtual void Cancel(const absl::Status& status) = 0;
  // Callers hold no locks that callbacks of timelines take.
  virtual void EndCancelled() = 0;
  virtual QueueLoad load() const = 0;
  // The point of the last submission.
  virtual Point last_point() const = 0;
};

struct QueueOptions {
  uint64_t stream = 0;  // For KernelEvent.
  // Asked whether anyone looks on: see profiler.h. May be null.
  std::shared_ptr<const KernelProbe> probe = nullptr;
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
  // Queues for whoever has none of his own. May be the same for every kind.
  virtual Queue& queue(QueueKind kind) = 0;
  // A queue for one client. When the last pointer is gone, what it has to do is still done; then
  // the device uses it again. So their number is that of queues open at one time.
  virtual std::shared_ptr<Queue> OpenQueue(QueueOptions options) = 0;
  // How long commands of all queues have run, since the device was made.
  virtual int64_t busy_ns() const = 0;
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

  // Points for work of the host on memory of this device.
  HostPoints& host_points() { return host_points_; }

 private:
  HostPoints host_points_;  // Goes after the queues, whose jobs may wait for its points.
};

}  // namespace kiln::runtime
