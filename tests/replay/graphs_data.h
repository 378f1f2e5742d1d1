// The arrays of the graph fixtures: inline, in the data file of a set, or made by the generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/dtype/dtype.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// The data file of one set. Thread-compatible.
class GraphData {
 public:
  // Reads `<path>.bin.gz`; without such a file the set has only inline arrays. DataLoss if it can't
  // be read to its end.
  static absl::StatusOr<GraphData> Open(const std::string& path);

  // The bytes of an array {"hex"} or {"off", "nbytes"}; InvalidArgument unless they are `bytes`.
  absl::StatusOr<std::vector<std::byte>> Array(const Json& json, int64_t bytes) const;

  // The contents of an entry of "inputs": an array, or what its "init" says.
  absl::StatusOr<std::vector<std::byte>> Input(const Json& json, DType dtype, int64_t elems) const;

 private:
  std::vector<std::byte> blob_;
};

// The i-th number of the stream `seed`. Source: Steele, Lea & Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014.
uint64_t SplitMix64(uint64_t seed, uint64_t i);

}  // namespace kiln::replay
