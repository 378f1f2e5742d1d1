// What one run of a plan is given, checked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/runtime/plan.h"
#include "core/runtime/tensor.h"

namespace kiln::runtime {

struct RunArgs;

// Values and memory of one run.
struct Bound {
  std::vector<int64_t> variables;               // In order of Plan::variables.
  std::vector<Scalar> scalars;                  // Of Plan::scalars.
  std::vector<BufferSlice> slices;              // By index in Plan::buffers; empty for temporaries.
  std::vector<std::shared_ptr<Buffer>> owners;  // Of all slices.
  std::vector<Tensor> outputs;
  int64_t output_bytes = 0;
};

// Errors: those of GraphRunner::Run.
absl::StatusOr<Bound> Bind(const Plan& plan, const RunArgs& args);

}  // namespace kiln::runtime
