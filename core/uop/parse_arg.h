// Reads what stands in braces after an op. For parse.cc.
#pragma once

#include "absl/status/statusor.h"

#include "core/uop/graph.h"
#include "core/uop/lexer.h"

namespace kiln::uop::internal {

// The arg of `op` from the current word on; none if no brace is there and `op` can do without.
absl::StatusOr<Arg> ParseArgument(Graph& g, Lexer& lexer, Op op);

absl::StatusOr<AxisType> ParseAxisType(Lexer& lexer);

}  // namespace kiln::uop::internal
