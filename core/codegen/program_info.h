// What a program says of itself beside its instructions. For the .cc files of codegen.
#pragma once

#include <cstdint>
#include <string>

#include "core/codegen/program.h"

namespace kiln::codegen::internal {

// "r_16x8_64": a reduction or elementwise kernel (r, e), its loops and lanes, then those reduced.
std::string NameOf(uop::Ref kernel);

// Fills in all members that follow from `linear`. Pre: it satisfies kProgramSpec.
void Describe(uop::Graph& g, int64_t num_buffers, Program& program);

}  // namespace kiln::codegen::internal
