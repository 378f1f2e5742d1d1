// GRADIENT as a call of the builder.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/graph_builder.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tensor_evaluator.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::IsOk;
using ::kiln::support::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr DType kF32 = DType::kFloat32;

std::string Finished(GraphBuilder b, std::initializer_list<Source> outputs) {
  const auto graph = std::move(b).Finish(outputs);
  return graph.ok() ? uop::ToText(graph->sink) : graph.status().ToString();
}

TEST(GradientBuilder, ExpandsAtOnce) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), y = b.Input(1, kF32, {4}), seed = b.Input(2, kF32, {4});
  auto z = b.Alu(Op::kMul, {x, y});
  auto dx = b.Gradient(z, seed, {x, y}, 0);
  auto dy = b.Gradient(z, std::nullopt, {x, y}, 1);
  EXPECT_EQ(Finished(std::move(b), {dx, dy}),
            "sink(input{2}(4):float32 * input{1}(4):float32, input{0}(4):float32)");
}

TEST(GradientBuilder, GradientsOfGradients) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4});
  auto y = b.Alu(Op::kMul, {x, b.Alu(Op::kMul, {x, x})});
  auto first = b.Gradient(y, std::nullopt, {x}, 0);
  auto second = b.Gradient(first, std::nullopt, {x}, 0);
  auto third = b.Gradient(second, std::nullopt, {x}, 0);
  KILN_ASSERT_OK_AND_ASSIGN(const TensorGraph graph, std::move(b).Finish({second, third}));
  const float in[4] = {1, 2, -3, 0};
  support::TensorRun run;
  const auto* bytes = reinterpret_cast<const std::byte*>(in);
  run.inputs[0] = {bytes, bytes + sizeof(in)};
  KILN_ASSERT_OK_AND_ASSIGN(const auto results, support::EvaluateTensors(graph, run));
  const auto* second_at = reinterpret_cast<const float*>(results.outputs[0].bytes.data());
  const auto* third_at = reinterpret_cast<const float*>(results.outputs[1].bytes.data());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(second_at[i], 6 * in[i]);
    EXPECT_EQ(third_at[i], 6);
  }
}

TEST(GradientBuilder, OfManyInputsCostOnePass) {
  constexpr int kInputs = 300;
  GraphBuilder b({.gradient_visits = kInputs * 12});
  std::vector<Source> xs;
  auto y = b.Input(kInputs, kF32, {4});
  for (int i = 0; i < kInputs; ++i) {
    auto x = b.Input(i, kF32, {4});
    xs.emplace_back(x);
    y = b.Alu(Op::kSin, {b.Alu(Op::kMul, {x, y})});
  }
  for (int i = 0; i < kInputs; ++i) {
    ASSERT_THAT(b.Gradient(y, std::nullopt, xs, i), IsOk()) << i;
    ASSERT_THAT(b.Gradient(y, std::nullopt, {xs[static_cast<size_t>(i)]}, 0), IsOk()) << i;
  }
}

TEST(GradientBuilder, BoundsTheWork) {
  GraphBuilder b({.gradient_visits = 1000});
  auto x = b.Input(0, kF32, {4}), y = x;
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    y = b.Alu(Op::kSin, {y});
    status = b.Gradient(y, std::nullopt, {x}, 0).status();
  }
  EXPECT_THAT(status, StatusIs(kExhausted, HasSubstr("more than the limit of 1000 nodes that are "
                                                     "differentiated")));
}

TEST(GradientBuilder, BoundsTheNodes) {
  GraphBuilder b({.gradient_nodes = 10'000});
  auto x = b.Input(0, kF32, {4}), y = b.Alu(Op::kPow, {x, b.Alu(Op::kSin, {x})});
  absl::Status status;
  for (int order = 0; order < 20 && status.ok(); ++order) {
    y = b.Gradient(y, std::nullopt, {x}, 0);
    status = y.status();
  }
  EXPECT_THAT(status, StatusIs(kExhausted, HasSubstr("more than the limit of 10000 nodes that "
                                                     "gradients consist of")));
}

TEST(GradientBuilder, TakesDeepGraphs) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), y = x;
  for (int i = 0; i < 100'000; ++i) y = b.Alu(Op::kSin, {y});
  auto dx = b.Gradient(y, std::nullopt, {x}, 0);
  EXPECT_THAT(std::move(b).Finish({dx}), IsOk());
}

TEST(GradientBuilder, NamesWhatIsWrong) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), i = b.Input(1, DType::kInt32, {4});
  auto y = b.Alu(Op::kSin, {x});
  EXPECT_THAT(b.Gradient(i, std::nullopt, {x}, 0),
              StatusIs(kInvalid, HasSubstr("node 3 (gradient), y: its dtype is int32")));
  EXPECT_THAT(b.Gradient(y, std::nullopt, {x, i}, 1),
              StatusIs(kInvalid, HasSubstr("xs[1]: its dtype is int32")));
  EXPECT_THAT(b.Gradient(y, std::nullopt, {x, i}, 0), IsOk());
  EXPECT_THAT(b.Gradient(y, std::nullopt, {x}, 1),
              StatusIs(kInvalid, HasSubstr("which: no x 1, there are 1")));
  EXPECT_THAT(b.Gradient(y, std::nullopt, {x}, -1), StatusIs(kInvalid, HasSubstr("which")));
  EXPECT_THAT(b.Gradient(y, std::nullopt, {}, 0), StatusIs(kInvalid, HasSubstr("which")));
  EXPECT_THAT(b.Gradient(y, i, {x}, 0), StatusIs(kInvalid, HasSubstr("seed")));
  EXPECT_THAT(b.Gradient(y, b.Input(2, kF32, {3}), {x}, 0),
              StatusIs(kInvalid, HasSubstr("seed: its shape (3)")));
  EXPECT_THAT(b.Gradient(b.Index(3), std::nullopt, {x}, 0), StatusIs(kInvalid));
  EXPECT_THAT(b.Gradient(y, std::nullopt, {Value{99}}, 0), StatusIs(kInvalid));
}

TEST(GradientBuilder, GoesBackToTheDefaultDevice) {
  GraphBuilder b;
  auto x = b.Input(0, kF32, {4}), w = b.Input(1, kF32, {4}, "CPU:1");
  auto y = b.Alu(Op::kMul, {b.Copy(x, "CPU:1"), w});
  auto dx = b.Gradient(y, std::nullopt, {x, w}, 0), dw = b.Gradient(y, std::nullopt, {x, w}, 1);
  EXPECT_EQ(Finished(std::move(b), {dx, dw}),
            "sink(copy(input{1}(4):float32), copy{\"CPU:1\"}(input{0}(4):float32))");
}

TEST(GradientBuilder, DifferentiatesSymbolicSizes) {
  GraphBuilder b;
  auto n = b.Variable("n", 1, 64);
  auto x = b.Input(0, kF32, {n, 8});
  auto y = b.Reduce(Op::kAdd, b.Shrink(b.Alu(Op::kMul, {x, x}), {0, 1, 2, 8}), {0, 1});
  auto dx = b.Gradient(y, std::nullopt, {x}, 0);
  ASSERT_THAT(dx, IsOk());
  const auto shape = b.ShapeOf(*dx), want = b.ShapeOf(*x);
  ASSERT_THAT(shape, IsOk());
  EXPECT_EQ(*shape, *want);
  EXPECT_THAT(std::move(b).Finish({dx}), IsOk());
}

}  // namespace
}  // namespace kiln::tensor
