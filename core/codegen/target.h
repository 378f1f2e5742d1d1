// What the code generator must know of a device. A backend describes itself with it.
#pragma once

#include <cstdint>
#include <string>

#include "core/codegen/op_support.h"

namespace kiln::codegen {

// Immutable once built.
struct Target {
  std::string name;  // In traces and cache keys: two targets that differ have different names.
  OpSupport ops;
  // Lanes of a value are computed together: without them (false), no heuristic makes lane ranges.
  bool has_lanes = true;
  int32_t vector_bytes = 64;                        // Of one machine vector.
  int32_t registers = 32;                           // Vector registers.
  int32_t cores = 1;                                // A kernel may be split over as many.
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;  // Data caches of a core.
  // float16, bfloat16 and fp8 arithmetic is computed in float32 and rounded after each operation,
  // unless the target computes it by itself with that result.
  bool has_float16 = false, has_bfloat16 = false;
};

}  // namespace kiln::codegen
