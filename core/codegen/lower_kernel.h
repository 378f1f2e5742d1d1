// From a kernel to a program.
//
//   KILN_ASSIGN_OR_RETURN(Program p, LowerKernel(g, kernel, target, {.name = "E_64"}));
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/codegen/opt/opt.h"
#include "core/codegen/program.h"
#include "core/codegen/target.h"
#include "core/symbolic/simplify.h"

namespace kiln::codegen {

struct LowerOptions {
  std::string name = "";  // Of the program; empty: made from its loops ("r_64_16").
  symbolic::Math math = symbolic::Math::kExact;
  // What is done to the ranges, which are those after the stage "simplify ranges". Null: what the
  // heuristics for the target choose.
  std::optional<std::vector<Opt>> opts = std::nullopt;
  // Called after each stage with its name and what it left of the kernel.
  std::function<void(std::string_view stage, uop::Ref root)> on_stage = nullptr;
};

// Lowers one kernel: in satisfies kKernelSpec, out kProgramSpec (both are verified in debug builds,
// out always). Buffers of the program are the PARAMs 0 .. n-1, those in between that the kernel does
// not use included. Deterministic: a function of the structure of the kernel, the target and the
// options.
// InvalidArgument: an access that cannot be proven in bounds (named), an Opt that is not legal
// (with the reason), a kernel that is none.
absl::StatusOr<Program> LowerKernel(uop::Graph& g, uop::Ref kernel, const Target& target,
                                    const LowerOptions& options = {});

}  // namespace kiln::codegen
