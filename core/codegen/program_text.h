// Programs as text: for people, and as the object code of the interpreter.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/codegen/program.h"

namespace kiln::codegen {

// A line with what does not follow from the instructions, then those in the text form of
// core/uop/text.h, a line each.
std::string ToText(const Program& program);

// The program of such a text, in `g`, verified (kProgramSpec). InvalidArgument if it is none. Safe on
// any bytes.
absl::StatusOr<Program> ParseProgram(uop::Graph& g, std::string_view text);

}  // namespace kiln::codegen
