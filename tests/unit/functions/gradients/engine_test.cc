// Gradients of functions, computed by the engine in float32, against the evaluator in float64.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/tensor/functions/schema.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tensor_alu.h"
#include "tests/support/tensor_evaluator.h"
#include "tests/unit/functions/execute.h"
#include "tests/unit/functions/gradients/gradient_cases.h"

namespace kiln::tensor::functions {
namespace {

struct Problem {
  TensorGraph graph;
  support::TensorRun run;
};

// The gradients of the sum of the first output with respect to all floats, which are of `dtype`.
absl::StatusOr<Problem> GradientsOf(const Case& c, DType dtype) {
  GraphBuilder b;
  support::TensorRun run;
  support::Random random(11);
  std::vector<std::optional<Source>> inputs;
  std::vector<Source> xs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const In& in = c.inputs[i];
    inputs.emplace_back();
    if (!in.is_given) continue;
    const bool is_float = in.dtype == DType::kFloat64;
    const DType own = is_float ? dtype : in.dtype;
    const auto slot = static_cast<int64_t>(i);
    inputs.back() = b.Input(slot, own, std::vector<Dim>(in.shape.begin(), in.shape.end()));
    if (is_float) xs.push_back(*inputs.back());
    size_t elems = 1;
    for (int64_t n : in.shape) elems *= static_cast<size_t>(n);
    support::Bytes bytes(elems * static_cast<size_t>(dtype::SizeBytes(own)));
    for (size_t k = 0; k < elems; ++k) {
      // The same in float32.
      const double unit = static_cast<double>(random.Uniform(0, 1 << 20)) / (1 << 20);
      const double v =
          in.values.empty() ? static_cast<float>(in.low + unit * (in.high - in.low)) : in.values[k];
      const auto scalar = dtype::Cast(Scalar::Float(v), DType::kFloat64, own);
      support::StoreElement(bytes, own, static_cast<int64_t>(k), scalar.value_or(Scalar()));
    }
    run.inputs[slot] = std::move(bytes);
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Value> outputs, b.Call(c.function, inputs, c.attributes));
  std::vector<Source> grads;
  for (size_t i = 0; i < xs.size(); ++i) {
    grads.emplace_back(b.Gradient(outputs[0], std::nullopt, xs, static_cast<int64_t>(i)));
  }
  KILN_ASSIGN_OR_RETURN(TensorGraph graph, std::move(b).Finish(grads));
  return Problem{std::move(graph), std::move(run)};
}

std::vector<double> Numbers(const support::TensorArray& a) {
  std::vector<double> numbers(a.bytes.size() / static_cast<size_t>(dtype::SizeBytes(a.dtype)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = support::LoadElement(a.bytes, a.dtype, static_cast<int64_t>(i)).AsFloat();
  }
  return numbers;
}

TEST(FunctionGradientsOnTheEngine, AgreeWithTheEvaluator) {
  std::set<std::string> seen;
  for (const Case& c : AllCases()) {
    if (Find(c.function) == nullptr || !seen.insert(c.function).second) continue;
    if (c.function == "cast") continue;  // To float64, which it is not.
    SCOPED_TRACE(c.function);
    const auto wide = GradientsOf(c, DType::kFloat64), narrow = GradientsOf(c, DType::kFloat32);
    KILN_ASSERT_OK(wide);
    KILN_ASSERT_OK(narrow);
    const auto want = EvaluateTensors(wide->graph, wide->run);
    const auto got = Execute(narrow->graph, narrow->run);
    KILN_ASSERT_OK(want);
    KILN_ASSERT_OK(got);
    ASSERT_EQ(got->outputs.size(), want->outputs.size());
    for (size_t k = 0; k < want->outputs.size(); ++k) {
      ASSERT_EQ(got->outputs[k].shape, want->outputs[k].shape);
      const std::vector<double> w = Numbers(want->outputs[k]), g = Numbers(got->outputs[k]);
      double largest = 1;
      for (double v : w) largest = std::max(largest, std::fabs(v));
      for (size_t i = 0; i < w.size(); ++i) {
        EXPECT_NEAR(g[i], w[i], 2e-5 * largest) << "gradient " << k << ", element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
