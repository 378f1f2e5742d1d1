// Time for measuring.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace kiln::runtime {

// Nanoseconds of a clock that never goes back, from an arbitrary start.
inline int64_t HostTimeNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Nanoseconds that the calling thread has computed: what work costs on a busy machine.
inline int64_t ThreadTimeNs() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace kiln::runtime
