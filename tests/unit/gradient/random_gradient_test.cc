// Random graphs of primitives and functions against finite differences.
#include "gtest/gtest.h"

#include "tests/support/random_runs.h"
#include "tests/unit/gradient/gradient_check.h"
#include "tests/unit/gradient/random_graph.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::GradientsAreRight;
using ::kiln::support::RandomDifferentiable;

TEST(RandomGradient, AgreesWithDifferences) {
  support::RandomRuns runs = support::RandomRunsFromEnvironment();
  if (runs.count > 1) runs.count /= 33;  // Each is hundreds of evaluations.
  for (uint64_t i = 0; i < runs.count && !testing::Test::HasFailure(); ++i) {
    const uint64_t seed = runs.first_seed + i;
    EXPECT_TRUE(
        GradientsAreRight([seed](GraphBuilder& b) { return RandomDifferentiable(b, seed).Build(); },
                          {.order = seed % 5 == 0 ? 2 : 1, .low = 0.5, .high = 2, .seed = seed}))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace kiln::tensor
