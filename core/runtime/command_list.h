// What a queue is given: commands to be run in order.
//
//   auto list = std::make_shared<CommandList>();
//   const auto exec = list->Exec(kernel, {{out, 0, 64}, {in, 0, 64}}, {7});
//   queue.Submit({}, list, outcome);
//   ... once it has run ...
//   list->SetBuffer(exec.first_buffer + 1, {other, 0, 64});  // The same on other memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"

#include "core/runtime/buffer.h"
#include "core/runtime/timeline.h"

namespace kiln::runtime {

class Executable;

// Runs a kernel on slices buffer(first_buffer) ..., one for each of its signature's buffers, and
// values variable(first_variable) ..., one for each of its variables.
struct ExecCommand {
  const Executable* executable;
  uint32_t first_buffer, num_buffers;
  uint32_t first_variable, num_variables;
};
// Copies slice buffer(from) to buffer(to): as many bytes as both have; they don't overlap. Either
// may be memory of another device that this one reaches (Device::Reaches).
struct CopyCommand {
  uint32_t to, from;
};
// Holds the queue up until the point has passed.
struct WaitCommand {
  Point point;
};
// Raises a timeline, once all commands before it are done. Also if one has failed.
struct SignalCommand {
  Point point;
};
// Writes the time of the device, in nanoseconds, to timestamp(slot) once all before it is done.
struct TimestampCommand {
  uint32_t slot;
};
using Command =
    std::variant<ExecCommand, CopyCommand, WaitCommand, SignalCommand, TimestampCommand>;

// How long runs of one list keep the device, as remembered: quick to follow what is shorter, slow
// to follow what is longer, since that is noise more often. Thread-safe.
class DeviceTimeMeter {
 public:
  // Nanoseconds; none before the first run.
  std::optional<int64_t> ns() const {
    const int64_t ns = ns_.load(std::memory_order_relaxed);
    return ns < 0 ? std::nullopt : std::optional<int64_t>(ns);
  }
  // Called by one thread at a time, or what one of them has seen is lost.
  void Record(int64_t ns) {
    const int64_t old = ns_.load(std::memory_order_relaxed);
    const int64_t step = old < 0 ? ns - old : ns < old ? (ns - old) / 2 : (ns - old) / 8;
    ns_.store(old + step, std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> ns_ = -1;
};

// Plain data. Thread-compatible; from Submit until its point has passed it belongs to the queue. It
// may be submitted again then, changed or not. Executables and buffers are borrowed, unless they
// are retained.
class CommandList {
 public:
  CommandList() = default;
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;

  // ** recording **
  // Pre: as many buffers and values as the executable's signature has.
  ExecCommand Exec(const Executable& executable, absl::Span<const BufferSlice> buffers,
                   absl::Span<const int64_t> variables);
  CopyCommand Copy(BufferSlice to, BufferSlice from);
  void Wait(Point point) { commands_.emplace_back(WaitCommand{point}); }
  void Signal(Point point) { commands_.emplace_back(SignalCommand{point}); }
  // The slot of timestamps_ns() that it writes.
  uint32_t Timestamp();
  // Keeps an object until the list has run (once), then drops it.
  void Retain(std::shared_ptr<const void> object) { retained_.push_back(std::move(object)); }

  // Told the device time of each run that goes well.
  void SetMeter(std::shared_ptr<DeviceTimeMeter> meter) { meter_ = std::move(meter); }

  // ** patching **
  void SetBuffer(uint32_t index, BufferSlice slice) { buffers_[index] = slice; }
  void SetVariable(uint32_t index, int64_t value) { variables_[index] = value; }

  // ** for queues **
  absl::Span<const Command> commands() const { return commands_; }
  const BufferSlice& buffer(uint32_t index) const { return buffers_[index]; }
  absl::Span<const BufferSlice> BuffersOf(const ExecCommand& e) const {
    return absl::MakeConstSpan(buffers_).subspan(e.first_buffer, e.num_buffers);
  }
  absl::Span<const int64_t> VariablesOf(const ExecCommand& e) const {
    return absl::MakeConstSpan(variables_).subspan(e.first_variable, e.num_variables);
  }
  absl::Span<int64_t> timestamps_ns() { return absl::MakeSpan(timestamps_ns_); }
  DeviceTimeMeter* meter() const { return meter_.get(); }
  // Called by the queue when all has run, right before the point passes.
  void DropRetained() { retained_.clear(); }

 private:
  std::vector<Command> commands_;
  std::vector<BufferSlice> buffers_;
  std::vector<int64_t> variables_;
  std::vector<int64_t> timestamps_ns_;
  std::vector<std::shared_ptr<const void>> retained_;
  std::shared_ptr<DeviceTimeMeter> meter_;
};

}  // namespace kiln::runtime
