// What the code generator hands to a backend: one kernel as a list of instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "core/codegen/opt/opt.h"
#include "core/dtype/dtype.h"
#include "core/uop/graph.h"

namespace kiln::codegen {

// Memory that a launch binds to the PARAM of the same number.
struct ProgramBuffer {
  DType dtype;
  int64_t elems = 0;  // The most that any values of the variables need.
  bool is_read = false;
  bool is_written = false;

  friend bool operator==(const ProgramBuffer&, const ProgramBuffer&) = default;
};

// A number that a launch binds by name.
struct ProgramVariable {
  std::string name;
  int64_t min = 0, max = 0;     // Inclusive. A launch outside them is an error.
  DType dtype = DType::kInt32;  // kInt32 or kInt64.

  friend bool operator==(const ProgramVariable&, const ProgramVariable&) = default;
};

// The program satisfies kProgramSpec (core/rewrite/specs.h).
//
// *Lanes.* A RANGE of type kUpcast or kUnroll, whose end is a constant, is a lane range: not a loop
// but an axis of values. A value has those lane axes that its expression depends on, and is there
// for every combination of their counters. The product of all lane sizes is at most kMaxLanes.
//
// *Instructions.* `linear` lists every node but constants, PARAMs and lane ranges, each after its
// sources. RANGE{kLoop or kReduce} opens a loop, END(effect..., range) closes the innermost open
// one. A loop whose end is 0 or less does not run. Effects happen in the order of the list.
//
// *Leaves.* PARAM in the global space: number i is buffers[i]. VARIABLE. SPECIAL{"core"}(num_cores),
// int32: the core that runs this. PARAM in the register space: an accumulator, one element for
// each combination of its lanes, private to a core.
//
// *Memory.* Element indices are sums in which a lane range is a term `lane * constant` wherever it
// can be. LOAD(INDEX(p, i, gate), other) is `other` where the gate is false, and does not touch
// memory there; STORE(INDEX(p, i, gate), value) does nothing there. A bool in memory is a byte, 0 or
// 1.
//
// *Values* are those of core/dtype/alu.h; a MULACC may round once or twice.
struct Program {
  uop::Ref linear =
      nullptr;       // LINEAR(instructions...); borrowed from the graph of the compile job.
  std::string name;  // A C identifier: "r_64_16".
  std::vector<ProgramBuffer> buffers;
  std::vector<ProgramVariable> variables;  // Sorted by name.
  int32_t num_cores = 1;     // Launched for each core 0 .. num_cores-1, possibly at once.
  int32_t vector_axis = -1;  // Axis id of the lane range that is a machine vector; -1: none.
  std::vector<Opt> opts;     // What was done to the kernel.
  // Estimates for one launch with variables at their maximum: arithmetic, and bytes that are
  // accessed, each access counted.
  int64_t flops = 0, bytes = 0;
};
inline constexpr int64_t kMaxLanes = 512;

// Whether `n` is a range whose counters are lanes rather than turns of a loop.
inline bool IsLane(uop::Ref n) {
  if (!n->Is(uop::Op::kRange)) return false;
  const uop::AxisType type = n->arg.range().type;
  return type == uop::AxisType::kUpcast || type == uop::AxisType::kUnroll;
}
inline bool IsLoop(uop::Ref n) {
  if (!n->Is(uop::Op::kRange)) return false;
  const uop::AxisType type = n->arg.range().type;
  return type == uop::AxisType::kLoop || type == uop::AxisType::kReduce;
}
// The lane ranges of a value, by axis id; of a STORE, those of its place, value and gate together.
using Lanes = absl::InlinedVector<uop::Ref, 4>;
Lanes LanesOf(uop::Graph& g, uop::Ref n);

}  // namespace kiln::codegen
