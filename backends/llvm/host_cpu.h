// The CPU that kernels are compiled for.
#pragma once

#include <cstdint>
#include <string>

#include "core/codegen/op_support.h"

namespace kiln::backend_llvm {

// Immutable once built.
struct HostCpu {
  std::string name;                                 // As LLVM calls it: "znver4".
  std::string features;                             // "+avx2,-avx512f,...".
  int32_t vector_bytes = 16;                        // Of the widest registers: 64, 32 or 16.
  int32_t registers = 16;                           // Vector registers.
  bool has_fma = false;                             // Fused multiply-add of float32 and float64.
  bool has_f16c = false;                            // Conversions between float16 and float32.
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;  // Data caches of a core.
};

// This machine. Cheap after the first call. Thread-safe.
const HostCpu& ThisCpu();

// What machine code from here computes with operations of its own: all but EXP2, LOG2, SIN, POW and
// THREEFRY, which have decompositions. IDIV and MOD by constants should come decomposed as well
// (SHR is listed): the decomposition knows bounds of the numerator that LLVM does not.
codegen::OpSupport OpsOf(const HostCpu& cpu);

// Identifies the compiler and what it makes code for: objects are valid where this is the same.
std::string CompilerId(const HostCpu& cpu);

}  // namespace kiln::backend_llvm
