// Kernels as a scheduler might make them, and opts for them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/codegen/opt/opt.h"
#include "core/codegen/target.h"
#include "core/uop/graph.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/random.h"

namespace kiln::support {

struct RandomKernel {
  Ref kernel;
  Contents contents;  // To begin with: outputs too.
  std::map<std::string, int64_t> variables;
  bool
      is_exact;  // No reduction of floats whose order matters, no function that may be off by a bit.
};

// Elementwise work and reductions, nested ones too, on all dtypes; permuted, strided, shifted and
// reshaped accesses; gates; symbolic ends; several stores; loads of what is stored. Every access is
// in bounds, and provably so.
RandomKernel MakeRandomKernel(Graph& g, Random& random);

// Opts for the kernel that are legal one after the other, found by trying.
std::vector<codegen::Opt> RandomOpts(Graph& g, Ref kernel, const codegen::Target& target,
                                     Random& random);

}  // namespace kiln::support
