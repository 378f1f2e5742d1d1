// Gradients against central differences in float64, through the evaluator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "gtest/gtest.h"

#include "core/tensor/graph_builder.h"
#include "tests/support/tensor_run.h"

namespace kiln::support {

// Builds y of inputs that it makes: float64 ones are differentiated.
using BuildFn = std::function<absl::StatusOr<tensor::Value>(tensor::GraphBuilder&)>;

struct GradientCheck {
  int order = 2;                                             // Up to this derivative.
  double low = -2, high = 2;                                 // Of the elements of inputs.
  std::map<int64_t, std::pair<double, double>> limits = {};  // By slot, instead of low and high.
  std::map<int64_t, std::vector<double>> values = {};        // Elements by slot, instead.
  std::map<std::string, int64_t> var_vals = {};
  double tolerance = 1e-7;  // Relative to the largest of 1 and the gradient.
  uint64_t seed = 1;
};

// Whether the gradients of what `build` makes, with a random seed, are those of finite differences;
// and so on for gradients of gradients.
testing::AssertionResult GradientsAreRight(const BuildFn& build, const GradientCheck& check = {});

// The gradients with seed 1 of what `build` makes, for these elements by slot: an array for each
// float64 input, in order of slots. Fails the test on an error.
std::vector<std::vector<double>> GradientsAt(const BuildFn& build,
                                             const std::map<int64_t, std::vector<double>>& values,
                                             const std::map<std::string, int64_t>& var_vals = {});

}  // namespace kiln::support
