// Gradients of every function of the library: against finite differences in float64, or that there
// is none, as documented.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/functions/schema.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/functions/gradients/gradient_cases.h"
#include "tests/unit/gradient/gradient_check.h"

namespace kiln::tensor::functions {
namespace {

using ::kiln::support::BuildFn;
using ::testing::Each;

absl::StatusOr<std::vector<Value>> Call(GraphBuilder& b, const Case& c) {
  std::vector<std::optional<Source>> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const In& in = c.inputs[i];
    inputs.emplace_back();
    if (!in.is_given) continue;
    inputs.back() = b.Input(static_cast<int64_t>(i), in.dtype,
                            std::vector<Dim>(in.shape.begin(), in.shape.end()));
  }
  return b.Call(c.function, inputs, c.attributes);
}

// Output `k` of the call.
BuildFn Output(const Case& c, size_t k) {
  return [&c, k](GraphBuilder& b) -> absl::StatusOr<Value> {
    const auto outputs = Call(b, c);
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[k];
  };
}

support::GradientCheck CheckOf(const Case& c) {
  support::GradientCheck check = {.order = c.order, .seed = 7};
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const In& in = c.inputs[i];
    if (!in.is_given) continue;
    const auto slot = static_cast<int64_t>(i);
    if (in.dtype == DType::kFloat64 && in.values.empty()) {
      check.limits[slot] = {in.low, in.high};
    } else {
      check.values[slot] = in.values;
    }
  }
  return check;
}

// The outputs that are floats.
std::vector<size_t> FloatOutputs(const Case& c) {
  GraphBuilder b;
  const auto outputs = Call(b, c);
  EXPECT_THAT(outputs, support::IsOk()) << c.function;
  std::vector<size_t> floats;
  for (size_t k = 0; outputs.ok() && k < outputs->size(); ++k) {
    if (dtype::IsFloat(b.DTypeOf((*outputs)[k]).value_or(DType::kBool))) floats.push_back(k);
  }
  return floats;
}

std::string Text(const Case& c, size_t index) {
  std::string text = c.function + ", case " + std::to_string(index) + " of its table:";
  for (const In& in : c.inputs) text += " " + testing::PrintToString(in.shape);
  return text;
}

void CheckAll(const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (Find(c.function) == nullptr) continue;  // Of a library with more functions.
    const std::vector<size_t> floats = FloatOutputs(c);
    EXPECT_FALSE(floats.empty()) << Text(c, i);
    for (size_t k : floats) {
      EXPECT_TRUE(support::GradientsAreRight(Output(c, k), CheckOf(c)))
          << Text(c, i) << ", output " << k;
    }
  }
}

TEST(FunctionGradients, OfElementwiseFunctionsAgreeWithDifferences) {
  CheckAll(ElementwiseCases());
}
TEST(FunctionGradients, OfReductionsAgreeWithDifferences) { CheckAll(ReductionCases()); }
TEST(FunctionGradients, OfMovementAgreeWithDifferences) { CheckAll(MovementCases()); }
TEST(FunctionGradients, OfFurtherFunctionsAgreeWithDifferences) { CheckAll(FurtherCases()); }
TEST(FunctionGradients, OfNetworksAgreeWithDifferences) { CheckAll(NetworkCases()); }

TEST(FunctionGradients, AreZeroOrRefusedWhereThereIsNone) {
  for (const FlatCase& flat : FlatCases()) {
    const Case& c = flat.call;
    SCOPED_TRACE(c.function);
    const FunctionSchema* schema = Find(c.function);
    if (schema == nullptr) continue;
    if (flat.kind == Flat::kNoInput) {
      for (const InputSchema& in : schema->inputs) {
        EXPECT_TRUE(in.rule == DTypeRule::kInteger || in.rule == DTypeRule::kBits) << in.name;
      }
      continue;
    }
    GraphBuilder b;
    const auto outputs = Call(b, c);
    KILN_ASSERT_OK(outputs);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (c.inputs[i].dtype != DType::kFloat64) continue;
      // Inputs are the first nodes.
      const auto grad =
          b.Gradient((*outputs)[0], std::nullopt, {Value{static_cast<uint32_t>(i)}}, 0);
      if (flat.kind == Flat::kZero) {
        EXPECT_THAT(grad, support::IsOk());
        continue;
      }
      EXPECT_THAT(grad, support::StatusIs(absl::StatusCode::kInvalidArgument,
                                          testing::HasSubstr("gradients are of floats")));
    }
    if (flat.kind != Flat::kZero) continue;
    std::map<int64_t, std::vector<double>> values;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const In& in = c.inputs[i];
      size_t elems = 1;
      for (int64_t n : in.shape) elems *= static_cast<size_t>(n);
      auto& v = values[static_cast<int64_t>(i)] = in.values;
      while (v.size() < elems) v.push_back(0.3 + 0.1 * static_cast<double>(v.size()));
    }
    for (const std::vector<double>& grad : support::GradientsAt(Output(c, 0), values)) {
      EXPECT_THAT(grad, Each(0));
    }
  }
}

TEST(FunctionGradients, EveryFunctionIsInATable) {
  std::set<std::string> seen;
  for (const Case& c : AllCases()) seen.insert(c.function);
  for (const FlatCase& flat : FlatCases()) seen.insert(flat.call.function);
  for (const FunctionSchema& f : AllFunctions()) {
    EXPECT_EQ(seen.erase(f.name), 1)
        << f.name
        << " is in no table of gradient_cases.h: add cases of its gradient, or that it has none";
  }
}

}  // namespace
}  // namespace kiln::tensor::functions
