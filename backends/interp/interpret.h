// The oracle: carries out a program one element at a time, and trusts nothing.
//
//   KILN_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Create(g, program));
//   KILN_RETURN_IF_ERROR(interpreter.Run({out, in}, {5}, /*core=*/0));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/codegen/program.h"

namespace kiln::interp {

using Buffers = absl::Span<const absl::Span<std::byte>>;

// A program made ready. Thread-safe: a run has its own state.
class Interpreter {
 public:
  // The program satisfies kProgramSpec. Takes a copy of what it needs, so graph and program may die.
  static absl::StatusOr<Interpreter> Create(uop::Graph& g, const codegen::Program& program);

  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  // What one core does. buffers[i] is bound to the PARAM of that number, borrowed until it returns;
  // `variables` are in the order of Program::variables.
  // Values are those of core/dtype/alu.h; what lies in memory is little-endian, a bool one byte.
  // InvalidArgument: a variable that is missing or out of its bounds, a buffer that is missing or
  // shorter than a program without variables says, a core that is none. Internal, naming the instruction: an access
  // outside of its buffer, a read of an accumulator's element that was not written.
  absl::Status Run(Buffers buffers, absl::Span<const int64_t> variables, int32_t core) const;

 private:
  struct Plan;
  explicit Interpreter(std::unique_ptr<const Plan> plan);
  friend class Planner;
  friend class Run;

  std::unique_ptr<const Plan> plan_;
};

// Runs all cores, one after the other.
absl::Status Interpret(uop::Graph& g, const codegen::Program& program, Buffers buffers,
                       absl::Span<const int64_t> variables = {});

}  // namespace kiln::interp
