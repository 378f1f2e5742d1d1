// What goes into one run of a tensor graph, and what comes out: arrays in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/dtype/dtype.h"

namespace kiln::support {

// Packed, row-major, little endian, as in memory of a device.
struct TensorArray {
  DType dtype = DType::kVoid;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

struct TensorRun {
  std::map<int64_t, std::vector<std::byte>> inputs;  // By slot: contents before the run.
  std::map<std::string, int64_t> var_vals;
};

struct TensorResults {
  std::vector<TensorArray> outputs;                    // Of the sink, in order.
  std::map<int64_t, std::vector<std::byte>> assigned;  // By slot: contents after the run.
};

}  // namespace kiln::support
