// A tensor graph made ready to run: what is kept of it, without its nodes. Buffers and values of
// variables are left open.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/dtype/dtype.h"
#include "core/runtime/device.h"
#include "core/runtime/scalar_program.h"

namespace kiln::runtime {

struct PlanVariable {
  std::string name;
  int64_t min, max;
};

// Something that the values of the variables must satisfy.
struct PlanCondition {
  SymbolicInt holds;
  std::string text;
};

struct PlanInput {
  int64_t slot;
  DType dtype;
  std::vector<SymbolicInt> dims;
  int32_t device;  // Index into Plan::devices.
  bool is_written;
  bool is_used;  // By some item; else the buffer is looked at but not touched.
};

struct PlanOutput {
  int32_t buffer;  // Index into Plan::buffers.
  DType dtype;
  std::vector<SymbolicInt> dims;
};

// Memory of a run.
struct PlanBuffer {
  enum class Kind : uint8_t { kInput, kOutput, kTemporary };
  Kind kind;
  int32_t input = 0;   // kInput: index into Plan::inputs.
  int64_t offset = 0;  // kTemporary: in the arena of its device.
  int64_t bytes = 0;   // The most that it needs.
  int32_t device = 0;
  DType dtype = DType::kVoid;
};

struct PlanLaunch {
  std::shared_ptr<const Executable> executable;
  // The same kernel on the device that results are compared with; null if they are not.
  std::shared_ptr<const Executable> reference;
  Device* reference_device = nullptr;
  std::vector<int32_t> buffers;    // Indices into Plan::buffers, by PARAM.
  int32_t num_written;             // The first so many of `buffers`.
  std::vector<int32_t> variables;  // Indices into Plan::variables, in order of the signature.
  std::string label;
};

struct PlanCopy {
  int32_t to, from;  // Indices into Plan::buffers.
  SymbolicInt elems;
  int64_t elem_bytes;
};

using PlanItem = std::variant<PlanLaunch, PlanCopy>;

// What is submitted at once: items for one device.
struct PlanSegment {
  int32_t device;
  std::vector<int32_t> items;  // Indices into Plan::items, in order.
  std::vector<int32_t> waits;  // Earlier segments that must have gone well.
  // Inputs and outputs that the items touch: indices into Plan::buffers, each once.
  std::vector<int32_t> reads, writes;
  std::vector<int32_t> foreign_arenas;  // Of other devices, from which it copies: device indices.
};

// Immutable, thread-safe.
struct Plan {
  std::vector<Device*> devices;         // Borrowed from the registry.
  std::vector<PlanVariable> variables;  // Sorted by name.
  ScalarProgram scalars;
  std::vector<PlanCondition> conditions;
  std::vector<PlanInput> inputs;  // By slot.
  std::vector<PlanBuffer> buffers;
  std::vector<PlanItem> items;
  std::vector<PlanOutput> outputs;
  std::vector<PlanSegment> segments;
  std::vector<int64_t> arena_bytes;  // Of each device: the most alive at once, as planned.
  int64_t unshared_bytes = 0;        // What temporaries would take without sharing.
  int64_t lower_bound_bytes = 0;     // What no plan could do without, on all devices.
  int32_t num_kernels = 0, num_copies = 0;
};

}  // namespace kiln::runtime
