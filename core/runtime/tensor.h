// Tensors in memory: what runs take and give.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype/dtype.h"
#include "core/runtime/buffer.h"

namespace kiln::runtime {

// A tensor of a run's result: row-major, `offset` bytes into its buffer. Its contents are there
// when the run is over; see Engine::Read.
struct Tensor {
  std::shared_ptr<Buffer> buffer;
  int64_t offset = 0;
  DType dtype = DType::kVoid;
  std::vector<int64_t> dims;

  int64_t num_elems() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  int64_t bytes() const { return num_elems() * dtype::SizeBytes(dtype); }
};

// Memory for an input of a graph, or for an output.
struct Binding {
  int64_t slot;  // Of the input; position of the output.
  std::shared_ptr<Buffer> buffer;
  int64_t offset = 0;  // Bytes: a multiple of MemoryLimits::alignment.
  // From `offset`; what is beyond is not the tensor's. None: all that the buffer has.
  std::optional<int64_t> bytes = std::nullopt;
};

// Values of variables by name.
using VarVals = std::map<std::string, int64_t, std::less<>>;

}  // namespace kiln::runtime
