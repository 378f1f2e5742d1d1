// How many seeded cases a random test tries, and from which seed on. The defaults are what CI runs;
// to look further,
//
//   KILN_RANDOM_RUNS=1000000 KILN_RANDOM_SEED=5 build/release/bin/random_test
//
// A failure prints the seed of its case; KILN_RANDOM_RUNS=1 and that seed repeat it alone.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace kiln::support {

struct RandomRuns {
  uint64_t first_seed = 1;
  uint64_t count = 10000;
};

inline RandomRuns RandomRunsFromEnvironment() {
  RandomRuns runs;
  if (const char* count = std::getenv("KILN_RANDOM_RUNS")) {
    runs.count = std::strtoull(count, nullptr, 10);
  }
  if (const char* seed = std::getenv("KILN_RANDOM_SEED")) {
    runs.first_seed = std::strtoull(seed, nullptr, 10);
  }
  return runs;
}

}  // namespace kiln::support
