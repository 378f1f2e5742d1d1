// From a tensor graph to kernels: which values exist in memory, what each kernel computes, and in
// which order they run.
//
//   KILN_ASSIGN_OR_RETURN(Schedule s, MakeSchedule(g, sink, {.default_device = "cpu:0"}));
//   for (const Item& item : s.items) ...
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "core/uop/graph.h"

namespace kiln::schedule {

// Memory that kernels read and write. A value. Row-major and without gaps.
struct Buffer {
  enum class Kind : uint8_t {
    kInput,      // Bound by the caller; `number` is its slot.
    kOutput,     // Made for the caller; `number` is the position of the first output that it holds.
    kTemporary,  // Lives within the run; `number` counts from 0.
  };
  Kind kind;
  int32_t number;
  DType dtype;
  int64_t elems;   // The most that any values of the variables need.
  int32_t device;  // Index into Schedule::devices.
};

// One kernel and the memory it works on.
struct Launch {
  // SINK(STORE(INDEX(PARAM, i), value, ranges...)...), satisfies kKernelSpec. PARAM number k is
  // buffers[k]; its dtype may differ from the buffer's. Axis ids count from 0, loops before reductions.
  Ref kernel;
  std::vector<int32_t> buffers;  // Indices into Schedule::buffers, each once.
  int32_t num_written;  // The first so many of `buffers` are written; they may be read too.
  int32_t device;
  std::string name;   // For people: "r_64_16". An identifier; kernels that differ may share it.
  std::string label;  // What it computes, in the words of the graph: the op that is stored.
};

// A copy of bytes as they are, within a device or between two.
struct Copy {
  int32_t from, to;  // Indices into Schedule::buffers, of one dtype.
  Ref elems;         // How many, from the start of both: an index expression.
};

using Item = std::variant<Launch, Copy>;

// Where an output is, and its shape.
struct Output {
  int32_t buffer;  // Index into Schedule::buffers: a kOutput buffer, from its start.
  DType dtype;
  std::vector<Ref> dims;  // Index expressions of constants and variables.
};

// Borrows nodes from the graph that it was made of.
struct Schedule {
  std::vector<std::string> devices;
  std::vector<Buffer> buffers;
  std::vector<Item> items;      // In an order in which they are right; see Dependencies.
  std::vector<Output> outputs;  // One for each source of the sink.
};

struct ScheduleOptions {
  std::string default_device = "cpu:0";
  // Device of each input by slot, as far as they are not on the default device.
  std::vector<std::string> input_devices;
};

// Pre: `sink` satisfies kTensorSpec, is a SINK of the outputs, and contains no CALL and no GRADIENT. Axis
// numbers, names and order depend on nothing but the graph.
// InvalidArgument: operands on different devices; more elements than int64 holds; Unimplemented: see
// README.md. Errors of symbolic::Simplify.
absl::StatusOr<Schedule> MakeSchedule(Graph& g, Ref sink, const ScheduleOptions& options = {});

// The schedule as text, one item with its kernel a paragraph: for people and tests.
std::string ToText(const Schedule& schedule);

}  // namespace kiln::schedule
