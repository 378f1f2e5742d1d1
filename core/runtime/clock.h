// Time for measuring.
#pragma once

#include <chrono>
#include <cstdint>

namespace kiln::runtime {

// Nanoseconds of a clock that never goes back, from an arbitrary start.
inline int64_t HostTimeNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace kiln::runtime
