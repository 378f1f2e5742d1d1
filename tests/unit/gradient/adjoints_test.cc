#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/rewrite/specs.h"
#include "core/tensor/gradient/gradient.h"
#include "core/uop/text.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/gradient/gradient_check.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::BuildFn;
using ::kiln::support::GradientsAreRight;
using ::kiln::support::GradientsAt;
using ::kiln::support::IsOk;
using ::kiln::support::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr DType kF64 = DType::kFloat64;

Ref Input(Graph& g, int64_t slot, DType dtype, absl::Span<const int64_t> dims) {
  return g.Make(Op::kInput, dtype, Dims(g, dims), Arg::Int(slot));
}

// The text of the only gradient.
std::string Text(Graph& g, Ref y, Ref x) {
  const auto grads = Gradients(g, y, nullptr, {x});
  if (!grads.ok()) return grads.status().ToString();
  EXPECT_THAT(rewrite::Verify(g, g.Make(Op::kSink, DType::kVoid, *grads), rewrite::kTensorSpec),
              IsOk());
  return uop::ToText((*grads)[0]);
}

TEST(Adjoints, FoldOnesAndZeros) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = Input(g, 1, kF32, {2});
  EXPECT_EQ(Text(g, g.Mul(x, y), x), "input{1}(2):float32");
  EXPECT_EQ(Text(g, g.Add(x, y), x), "expand(reshape(1.0:float32, 1), 2)");
  EXPECT_EQ(Text(g, g.Make(Op::kReduce, kF32, {g.Mul(x, y)}, Arg::Of(ReduceArg{Op::kAdd, 1})), x),
            "input{1}(2):float32");
}

TEST(Adjoints, OfWhatIsNotReachedAreZeros) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = Input(g, 1, kF32, {3});
  EXPECT_EQ(Text(g, y, x), "expand(reshape(0.0:float32, 1), 2)");
  EXPECT_EQ(Text(g, g.Unary(Op::kDetach, g.Mul(x, x)), x), "expand(reshape(0.0:float32, 1), 2)");
  EXPECT_EQ(Text(g, y, y), "expand(reshape(1.0:float32, 1), 3)");
}

TEST(Adjoints, StopAtDetach) {
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {2});
    return b.Alu(Op::kMul, {x, b.Detach(b.Alu(Op::kMul, {x, x}))});
  };
  EXPECT_THAT(GradientsAt(build, {{0, {2, 3}}})[0], ElementsAre(4, 9));
}

TEST(Adjoints, AreSummedOverAllPaths) {
  const BuildFn build = [](GraphBuilder& b) {
    auto x = b.Input(0, kF64, {3}), y = b.Input(1, kF64, {3});
    auto s = b.Alu(Op::kMul, {x, y});
    auto t = b.Alu(Op::kSin, {s});
    auto u = b.Alu(Op::kMul, {s, t});
    auto v = b.Alu(Op::kAdd, {u, b.Alu(Op::kMul, {t, x})});
    return b.Alu(Op::kMul, {v, b.Alu(Op::kAdd, {u, s})});
  };
  EXPECT_TRUE(GradientsAreRight(build));
}

TEST(Adjoints, OfInnerNodesCountWhatLiesAbove) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), s = g.Mul(x, x), y = g.Mul(s, x);
  EXPECT_EQ(Text(g, y, s), "input{0}(2):float32");
  const auto both = Gradients(g, y, nullptr, {s, x});
  const auto alone = Gradients(g, y, nullptr, {x});
  ASSERT_THAT(both, IsOk());
  ASSERT_THAT(alone, IsOk());
  EXPECT_EQ((*both)[1], (*alone)[0]);
}

TEST(Adjoints, DoNotGrowWithThePaths) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = x;
  for (int i = 0; i < 200; ++i) y = g.Mul(y, y);  // 2^200 paths.
  const uint32_t before = g.size();
  ASSERT_THAT(Gradients(g, y, nullptr, {x}), IsOk());
  EXPECT_LT(g.size() - before, 200 * 4);
}

TEST(Adjoints, AreLinearInDepthWithoutRecursion) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = x;
  constexpr int kDepth = 100'000;
  for (int i = 0; i < kDepth; ++i) y = g.Unary(i % 2 == 0 ? Op::kSin : Op::kSqrt, y);
  const uint32_t before = g.size();
  const auto first = Gradients(g, y, nullptr, {x});
  ASSERT_THAT(first, IsOk());
  const uint32_t made = g.size() - before;
  EXPECT_LT(made, kDepth * 8);
  ASSERT_THAT(Gradients(g, (*first)[0], nullptr, {x}), IsOk());
  EXPECT_LT(g.size() - before - made, kDepth * 40);
}

TEST(Adjoints, OfManyUsersAreABalancedSum) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = Input(g, 1, kF32, {2});
  constexpr int kUsers = 100'000;
  Ref sum = y;
  for (int i = 0; i < kUsers; ++i) sum = g.Binary(Op::kMax, sum, g.Mul(x, sum));
  const auto adjoints = Adjoints::Make(g, sum, nullptr);
  ASSERT_THAT(adjoints, IsOk());
  ASSERT_THAT((*adjoints)->Of(x), IsOk());
  const uint32_t before = g.size();
  ASSERT_THAT((*adjoints)->Of(y), IsOk());  // All that it takes is there.
  EXPECT_LT(g.size() - before, 20);
}

TEST(Adjoints, KeepWhatWasAskedFor) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = Input(g, 1, kF32, {2}), s = g.Mul(x, y);
  for (int i = 0; i < 1000; ++i) s = g.Unary(Op::kSin, s);
  GradientBudget budget{.visits = 5000, .nodes = 20'000};
  const auto adjoints = Adjoints::Make(g, s, nullptr, {.budget = &budget, .device_of = {}});
  ASSERT_THAT(adjoints, IsOk());
  ASSERT_THAT((*adjoints)->Of(x), IsOk());
  const int64_t left = budget.visits;
  ASSERT_THAT((*adjoints)->Of(y), IsOk());
  EXPECT_EQ(left - budget.visits, 1);
}

TEST(Adjoints, AreBoundedByABudget) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), y = x;
  for (int i = 0; i < 1000; ++i) y = g.Unary(Op::kSin, y);
  GradientBudget nodes{.visits = 5000, .nodes = 500};
  auto adjoints = Adjoints::Make(g, y, nullptr, {.budget = &nodes, .device_of = {}});
  ASSERT_THAT(adjoints, IsOk());
  EXPECT_THAT((*adjoints)->Of(x), StatusIs(absl::StatusCode::kResourceExhausted));
  GradientBudget visits{.visits = 500, .nodes = 500};
  EXPECT_THAT(Adjoints::Make(g, y, nullptr, {.budget = &visits, .device_of = {}}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(Adjoints, PassAnAssignToItsValue) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), t = Input(g, 1, kF32, {2});
  Ref y = g.Mul(g.Make(Op::kAssign, kF32, {t, g.Unary(Op::kNeg, x)}), t);
  EXPECT_EQ(Text(g, y, x), "-input{1}(2):float32");
  EXPECT_EQ(Text(g, y, t), uop::ToText(y->src(0)));
}

TEST(Adjoints, GoBackToTheDeviceOfTheSource) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), far = Input(g, 1, kF32, {2});
  const auto copy = [&g](Ref n, std::string_view to) {
    return g.Make(Op::kCopy, n->dtype, {n}, g.PayloadArg(to, {}));
  };
  Ref near = copy(x, "A");
  Ref y = g.Mul(copy(g.Unary(Op::kSin, near), "B"), far);
  GradientOptions options = {.budget = nullptr,
                             .device_of = [](Ref n) { return n->arg.integer() == 0 ? "X" : "B"; }};
  const auto adjoints = Adjoints::Make(g, y, nullptr, options);
  ASSERT_THAT(adjoints, IsOk());
  const auto grad = (*adjoints)->Of(x);
  ASSERT_THAT(grad, IsOk());
  EXPECT_THAT(uop::ToText(*grad), HasSubstr("copy{\"X\"}(copy{\"A\"}(input{1}(2):float32) * "));
}

TEST(Adjoints, RefuseWhatHasNone) {
  Graph g;
  Ref x = Input(g, 0, kF32, {2}), i = Input(g, 1, DType::kInt32, {2});
  EXPECT_THAT(Gradients(g, x, nullptr, {i}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x has dtype int32")));
  EXPECT_THAT(Gradients(g, i, nullptr, {x}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("y has dtype int32")));
  EXPECT_THAT(Gradients(g, x, Input(g, 2, kF64, {2}), {x}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the seed")));
  EXPECT_THAT(Gradients(g, x, Input(g, 2, kF32, {3}), {x}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the seed")));
  Ref inner = g.Make(Op::kGradient, kF32, {x, x, x}, Arg::Int(0));
  EXPECT_THAT(Gradients(g, inner, nullptr, {x}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("expanded first")));
}

}  // namespace
}  // namespace kiln::tensor
