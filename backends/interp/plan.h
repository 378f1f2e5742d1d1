// A program as what the interpreter walks over. For the .cc files of this folder.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "backends/interp/interpret.h"
#include "core/dtype/scalar.h"
#include "core/uop/op.h"

namespace kiln::interp {

// Where a value is: one Scalar for each combination of its lanes, row-major by axis id.
struct Value {
  uint32_t begin = 0, lanes = 1;
};

// An operand as seen from an instruction with more lanes.
struct Operand {
  Value value;
  DType dtype = DType::kVoid;
  std::vector<uint16_t> lane;  // Which lane of it goes with lane i; empty: lane 0 with all.

  uint32_t At(uint32_t i) const { return value.begin + (lane.empty() ? 0 : lane[i]); }
};

struct Instruction {
  Op op;
  DType dtype;
  Value out;
  uint32_t lanes = 1;  // How often it is done: those of `out`, or of the effect; of a REDUCE, of
                       // its operand.
  absl::InlinedVector<Operand, 3> in;
  // LOAD, STORE: element, gate and value of `in`; -1 if there is none.
  int element = -1, gate = -1, data = -1;
  bool is_register = false;
  uint32_t memory = 0;  // Number of the buffer or accumulator.
  Op reduce = Op::kAdd;
  std::vector<uint16_t> to;  // REDUCE: the lane of `out` that lane i of the operand goes to.
  uint32_t jump = 0;         // RANGE: its END; END: its RANGE. Positions in the list.
  uint32_t variable = 0;
  std::string text;  // For messages.
};

struct Interpreter::Plan {
  std::vector<Instruction> instructions;
  std::vector<Scalar> values;  // At the start: constants and lane counters are there.
  std::vector<codegen::ProgramBuffer> buffers;
  std::vector<codegen::ProgramVariable> variables;
  struct Accumulator {
    DType dtype;
    size_t elems;
  };
  std::vector<Accumulator> accumulators;
  int32_t num_cores = 1;
};

}  // namespace kiln::interp
