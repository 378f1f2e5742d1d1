// Seeded randomness that is the same everywhere: the distributions of <random> are not.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

#include "core/uop/hash.h"

namespace kiln::support {

// Thread-compatible.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(uop::Mix(seed)) {}

  uint64_t Next() { return uop::Mix(state_++); }
  // Pre: lo <= hi. Both inclusive.
  int64_t Uniform(int64_t lo, int64_t hi) {
    const uint64_t span = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
    const uint64_t offset = span == 0 ? Next() : Next() % span;
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + offset);
  }
  // True with probability `numerator / denominator`.
  bool Chance(int numerator, int denominator) { return Uniform(1, denominator) <= numerator; }
  // Pre: `choices` is not empty.
  template <typename T>
  const T& Pick(absl::Span<const T> choices) {
    return choices[static_cast<size_t>(Uniform(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  uint64_t state_;
};

}  // namespace kiln::support
