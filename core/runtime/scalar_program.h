// Expressions of variables (sizes, conditions) in a form that outlives their graph and is quick to
// evaluate from any thread.
//
//   ScalarProgramBuilder b(variable_names);
//   KILN_ASSIGN_OR_RETURN(const SymbolicInt n, b.Add(expression));
//   const ScalarProgram program = std::move(b).Finish();
//   KILN_ASSIGN_OR_RETURN(const std::vector<Scalar> values, program.Evaluate(variable_values));
//   ValueOf(n, values);
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/dtype/scalar.h"
#include "core/uop/graph.h"
#include "core/uop/node_map.h"

namespace kiln::runtime {

// An integer or bool that may depend on variables. A value; belongs to one ScalarProgram.
struct SymbolicInt {
  int32_t step = -1;  // Of the program; -1: constant.
  int64_t constant = 0;
};

// Immutable, thread-safe.
class ScalarProgram {
 public:
  // The values of all steps, given those of the variables, in order of the names that the builder
  // was given and within their bounds. InvalidArgument if an index leaves int64 or is divided by 0
  // where it counts, with the expression. Some 10 ns for each step; nothing if all is constant.
  absl::StatusOr<std::vector<Scalar>> Evaluate(absl::Span<const int64_t> variables) const;

 private:
  friend class ScalarProgramBuilder;
  struct Step {
    Op op;          // kConst, kVariable or an elementwise op.
    DType dtype;    // Of the result.
    DType operand;  // Of the operands: of the last.
    uint8_t num_src = 0;
    std::array<int32_t, 3> src = {};  // Steps.
    Scalar constant;
    int32_t variable = 0;
  };
  std::vector<Step> steps_;
  // Steps that somebody asks for, and how they read: an undefined value is an error only there.
  std::vector<std::pair<int32_t, std::string>> wanted_;
};

// Confined to the compile job.
class ScalarProgramBuilder {
 public:
  explicit ScalarProgramBuilder(absl::Span<const std::string> variables);

  // Pre: one graph for all. InvalidArgument if `n` has anything but constants, variables that were
  // given, and elementwise ops on integers, bools and index.
  absl::StatusOr<SymbolicInt> Add(Ref n);
  ScalarProgram Finish() && { return std::move(program_); }

 private:
  absl::StatusOr<ScalarProgram::Step> StepOf(Ref n);

  absl::flat_hash_map<std::string, int32_t> variables_;
  uop::NodeMap<int32_t> steps_;  // Plus 1.
  ScalarProgram program_;
};

inline int64_t ValueOf(const SymbolicInt& s, absl::Span<const Scalar> values) {
  return s.step < 0 ? s.constant : values[static_cast<size_t>(s.step)].AsInt();
}

}  // namespace kiln::runtime
