// Reads literals, variables, and what may follow a node. For parse.cc.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "core/uop/graph.h"
#include "core/uop/lexer.h"

namespace kiln::uop::internal {

// A node, or a literal that waits for the operands beside it to say what dtype it has.
struct Operand {
  Ref node = nullptr;
  bool negative = false;
  Token literal;
};

bool IsLiteralWord(const Token& word);

// A literal whose sign has been read; a node if its dtype follows.
absl::StatusOr<Operand> ParseLiteralOperand(Graph& g, Lexer& lexer, bool negative);

// Makes a literal a constant of dtype `d`.
absl::Status Resolve(Graph& g, const Lexer& lexer, Operand& operand, DType d);

// The same for all operands of `op`, which take their dtype from those beside them.
absl::Status ResolveAll(Graph& g, const Lexer& lexer, Op op, absl::Span<Operand> operands);

// What follows the name of a variable.
absl::StatusOr<Ref> ParseVariable(Graph& g, Lexer& lexer, const Token& name);

// [":" dtype] ["#" tag]
struct Suffix {
  std::optional<DType> dtype;
  uint8_t tag = 0;
};
absl::StatusOr<Suffix> ParseSuffix(Lexer& lexer);
absl::StatusOr<uint8_t> ParseTag(Lexer& lexer);

// For messages: at most a line of it.
std::string Shown(const Token& word);

}  // namespace kiln::uop::internal
