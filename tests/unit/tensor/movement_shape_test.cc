// Shape inference and checking of movement steps.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/evaluate.h"
#include "core/tensor/movement.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class MovementShapeTest : public ::testing::Test {
 protected:
  std::vector<Ref> Sizes(absl::Span<const int64_t> sizes) { return Dims(g, sizes); }

  Graph g;
};

// ** conditions **

TEST_F(MovementShapeTest, WhatDependsOnValuesBecomesACondition) {
  Ref v = g.Variable("v", 1, 100);
  KILN_ASSERT_OK_AND_ASSIGN(const CheckedShape s,
                            ShapeAfter(g, Sizes({3}), Movement::Shrink({g.Index(0), v})));
  ASSERT_EQ(s.conditions.size(), 1);
  symbolic::Bindings values;
  values.variables.emplace("v", Scalar::Int(3));
  EXPECT_THAT(symbolic::Evaluate(g, s.conditions[0], values),
              support::IsOkAndHolds(Scalar::Bool(true)));
  values.variables["v"] = Scalar::Int(4);
  EXPECT_THAT(symbolic::Evaluate(g, s.conditions[0], values),
              support::IsOkAndHolds(Scalar::Bool(false)));
}

TEST_F(MovementShapeTest, WhatAlwaysHoldsIsNoCondition) {
  Ref v = g.Variable("v", 1, 3);
  KILN_ASSERT_OK_AND_ASSIGN(const CheckedShape s,
                            ShapeAfter(g, Sizes({3}), Movement::Shrink({g.Index(0), v})));
  EXPECT_THAT(s.conditions, IsEmpty());
  EXPECT_THAT(s.dims, ElementsAre(v));
}

TEST_F(MovementShapeTest, ABindDecidesAtOnce) {
  Ref v = g.Variable("v", 1, 100);
  auto bound = [&](int64_t value) { return g.Make(Op::kBind, DType::kIndex, {v, g.Index(value)}); };
  auto padded = [&](int64_t value) {
    const std::vector<Ref> base = {bound(value)};
    const std::vector<Movement> chain = {Movement::Pad(Sizes({4, 0})),
                                         Movement::Reshape(Sizes({9}))};
    return ShapeAfter(g, base, chain);
  };
  KILN_EXPECT_OK(padded(5));
  EXPECT_THAT(padded(6), StatusIs(kInvalid, AllOf(HasSubstr("step 1"), HasSubstr("9"))));
}

// ** errors **

struct BadStep {
  const char* name;
  std::vector<int64_t> shape;
  Op op;
  std::vector<int64_t> numbers;  // dims, order or mask.
  const char* message;
};

class BadStepTest : public ::testing::TestWithParam<BadStep> {};

TEST_P(BadStepTest, IsAStatusThatNamesItAndItsNumbers) {
  const BadStep& bad = GetParam();
  Graph g;
  Movement step{.op = bad.op, .dims = {}, .order = {}};
  if (bad.op == Op::kPermute) {
    step.order = bad.numbers;
  } else if (bad.op == Op::kFlip) {
    step.flipped = static_cast<uint64_t>(bad.numbers[0]);
  } else {
    step.dims = Dims(g, bad.numbers);
  }
  EXPECT_THAT(
      ShapeAfter(g, Dims(g, bad.shape), step),
      StatusIs(kInvalid, AllOf(HasSubstr(std::string(uop::Name(bad.op))), HasSubstr(bad.message))));
}

constexpr int64_t kHuge = int64_t{1} << 40;

INSTANTIATE_TEST_SUITE_P(
    Movement, BadStepTest,
    ::testing::Values(
        BadStep{"ReshapeCount",
                {3, 4},
                Op::kReshape,
                {13},
                "(3, 4): 12 elements don't fit (13), which has 13"},
        BadStep{"ReshapeNegative", {4}, Op::kReshape, {-2, -2}, "axis 0 gets the size -2"},
        BadStep{"ReshapeToNothing", {4}, Op::kReshape, {0}, "4 elements don't fit (0)"},
        BadStep{"ReshapeOfNothing", {0}, Op::kReshape, {1}, "0 elements don't fit (1)"},
        BadStep{"ReshapeOverflow",
                {0},
                Op::kReshape,
                {kHuge, kHuge, 0},
                "more elements than int64 counts"},
        BadStep{"ExpandAxis", {3, 1}, Op::kExpand, {4, 2}, "axis 0 of size 3 can't become 4"},
        BadStep{"ExpandRank", {1}, Op::kExpand, {1, 2}, "another number of axes"},
        BadStep{"ExpandNegative", {1}, Op::kExpand, {-1}, "axis 0 gets the size -1"},
        BadStep{"ExpandOverflow",
                {1, 1},
                Op::kExpand,
                {kHuge, kHuge},
                "more elements than int64 counts"},
        BadStep{"PermuteRank", {2, 3}, Op::kPermute, {0}, "not a permutation"},
        BadStep{"PermuteTwice", {2, 3}, Op::kPermute, {1, 1}, "(1, 1) is not a permutation"},
        BadStep{"PermuteOutside", {2, 3}, Op::kPermute, {0, 2}, "(0, 2) is not a permutation"},
        BadStep{"PermuteNegative", {2, 3}, Op::kPermute, {0, -1}, "(0, -1) is not a permutation"},
        BadStep{"FlipAxis", {2}, Op::kFlip, {2}, "mask 2"},
        BadStep{"FlipScalar", {}, Op::kFlip, {-1}, "names an axis"},
        BadStep{"PadNegative",
                {2},
                Op::kPad,
                {-1, 3},
                "axis 0 can't be padded by -1 before and 3 after"},
        BadStep{"PadRank", {2}, Op::kPad, {1, 1, 1, 1}, "4 numbers given, 2 are needed"},
        BadStep{"PadOverflow", {2}, Op::kPad, {INT64_MAX, 0}, "more elements than int64 counts"},
        BadStep{"ShrinkEnd",
                {2, 5},
                Op::kShrink,
                {0, 2, 1, 6},
                "[1, 6) is not within axis 1 of size 5"},
        BadStep{"ShrinkBegin", {5}, Op::kShrink, {-1, 3}, "[-1, 3) is not within axis 0"},
        BadStep{"ShrinkOrder", {5}, Op::kShrink, {4, 3}, "[4, 3) is not within axis 0"},
        BadStep{"ShrinkRank", {5}, Op::kShrink, {4}, "1 numbers given, 2 are needed"},
        BadStep{"NoMovement", {5}, Op::kAdd, {}, "no movement op"}),
    [](const auto& bad_step) { return std::string(bad_step.param.name); });

TEST_F(MovementShapeTest, WrongForAllValuesIsAnError) {
  Ref v = g.Variable("v", 4, 9);
  EXPECT_THAT(ShapeAfter(g, Sizes({3}), Movement::Shrink({g.Index(0), v})),
              StatusIs(kInvalid, HasSubstr("[0, v)")));
  EXPECT_THAT(ShapeAfter(g, Sizes({3}), Movement::Reshape({v})),
              StatusIs(kInvalid, HasSubstr("3 elements")));
  EXPECT_THAT(ShapeAfter(g, Sizes({3}), Movement::Expand({v})),
              StatusIs(kInvalid, HasSubstr("axis 0 of size 3")));
}

TEST_F(MovementShapeTest, AWrongBaseIsAnError) {
  const std::vector<Movement> none;
  EXPECT_THAT(ShapeAfter(g, Sizes({2, -3}), none),
              StatusIs(kInvalid, HasSubstr("axis 1 gets the size -3")));
  EXPECT_THAT(ShapeAfter(g, Sizes({kHuge, kHuge}), none),
              StatusIs(kInvalid, HasSubstr("more elements")));
  EXPECT_THAT(ShapeAfter(g, Sizes(std::vector<int64_t>(33, 1)), none),
              StatusIs(kInvalid, HasSubstr("33 axes")));
}

TEST_F(MovementShapeTest, ASizeThatIsNoIndexIsAnError) {
  Ref size = g.Int(DType::kInt32, 3);
  EXPECT_THAT(ShapeAfter(g, Sizes({3}), Movement::Reshape({size})),
              StatusIs(kInvalid, HasSubstr("int32")));
  const std::vector<Ref> base = {size};
  EXPECT_THAT(ShapeAfter(g, base, std::vector<Movement>()), StatusIs(kInvalid, HasSubstr("int32")));
}

TEST_F(MovementShapeTest, AnErrorNamesTheStepOfTheChain) {
  const std::vector<Movement> chain = {Movement::Flip(1), Movement::Reshape(Sizes({2, 2}))};
  EXPECT_THAT(ShapeAfter(g, Sizes({5}), chain), StatusIs(kInvalid, HasSubstr("step 1")));
  EXPECT_THAT(AccessOf(g, Sizes({5}), chain, Sizes({0, 0})),
              StatusIs(kInvalid, HasSubstr("step 1")));
}

}  // namespace
}  // namespace kiln::tensor
