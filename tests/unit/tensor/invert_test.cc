#include "core/tensor/invert.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/unit/tensor/position_array.h"

namespace kiln::tensor {
namespace {

using ::testing::HasSubstr;

class InvertTest : public ::testing::Test {
 protected:
  std::vector<Ref> Sizes(absl::Span<const int64_t> sizes) { return Dims(g, sizes); }

  bool IsInvertible(const std::vector<Ref>& base, const std::vector<Movement>& chain) {
    const auto inverse = Invert(g, base, chain);
    KILN_EXPECT_OK(inverse);
    return inverse.ok() && inverse->has_value();
  }

  // Every element of the base is where the inverse looks for it.
  void CheckInverse(const std::vector<Ref>& base, const std::vector<Movement>& chain,
                    const symbolic::Bindings& values = {}) {
    KILN_ASSERT_OK_AND_ASSIGN(const std::optional<std::vector<Movement>> inverse,
                              Invert(g, base, chain));
    ASSERT_TRUE(inverse.has_value());
    PositionArray array = BaseArray(Values(g, base, values));
    const PositionArray start = array;
    for (const Movement& step : chain) array = Moved(g, array, step, values);
    for (const Movement& step : *inverse) array = Moved(g, array, step, values);
    EXPECT_EQ(array.shape, start.shape);
    EXPECT_EQ(array.at, start.at);
  }

  Graph g;
};

TEST_F(InvertTest, UndoesWhatOnlyMoves) {
  CheckInverse(Sizes({2, 3, 4}), {});
  CheckInverse(Sizes({2, 3, 4}),
               {Movement::Permute({2, 0, 1}), Movement::Flip(5), Movement::Reshape(Sizes({8, 3})),
                Movement::Permute({1, 0}), Movement::Reshape(Sizes({24}))});
}

TEST_F(InvertTest, UndoesPadding) {
  CheckInverse(Sizes({2, 5}),
               {Movement::Pad(Sizes({2, 0, 1, 1})), Movement::Reshape(Sizes({2, 2, 7})),
                Movement::Reshape(Sizes({4, 7})), Movement::Flip(1)});
}

TEST_F(InvertTest, PaddingMayBeCutOffAgain) {
  CheckInverse(Sizes({2, 5}),
               {Movement::Pad(Sizes({2, 3, 0, 1})), Movement::Permute({1, 0}), Movement::Flip(2),
                Movement::Reshape(Sizes({6, 1, 7})), Movement::Shrink(Sizes({0, 5, 0, 1, 1, 6}))});
}

TEST_F(InvertTest, CopiesMayBeCutOffAgain) {
  CheckInverse(Sizes({3, 1}), {Movement::Expand(Sizes({3, 4})), Movement::Pad(Sizes({0, 0, 1, 2})),
                               Movement::Flip(2), Movement::Shrink(Sizes({0, 3, 3, 4}))});
}

TEST_F(InvertTest, UndoesSymbolicSizes) {
  Ref v = g.Variable("v", 1, 5);
  symbolic::Bindings values;
  values.variables.emplace("v", Scalar::Int(3));
  CheckInverse({v, g.Index(2)},
               {Movement::Pad({v, g.Index(1), g.Index(0), g.Index(0)}), Movement::Permute({1, 0}),
                Movement::Shrink({g.Index(0), g.Index(2), v, g.Mul(v, g.Index(2))}),
                Movement::Reshape({g.Mul(v, g.Index(2))})},
               values);
}

TEST_F(InvertTest, NoElementsAreFoundAnywhere) {
  CheckInverse(Sizes({3, 0}), {Movement::Pad(Sizes({0, 0, 1, 1})), Movement::Reshape(Sizes({6}))});
  CheckInverse(Sizes({0}), {Movement::Pad(Sizes({0, 1})), Movement::Reshape({})});
}

TEST_F(InvertTest, RefusesDroppedElements) {
  EXPECT_FALSE(IsInvertible(Sizes({10, 10}), {Movement::Shrink(Sizes({0, 10, 2, 8}))}));
  EXPECT_FALSE(
      IsInvertible(Sizes({4}), {Movement::Pad(Sizes({1, 1})), Movement::Shrink(Sizes({2, 6}))}));
}

TEST_F(InvertTest, RefusesRepeatedElements) {
  EXPECT_FALSE(IsInvertible(Sizes({10, 1}), {Movement::Expand(Sizes({10, 10}))}));
  EXPECT_FALSE(IsInvertible(Sizes({2, 1}),
                            {Movement::Expand(Sizes({2, 3})), Movement::Reshape(Sizes({6}))}));
}

TEST_F(InvertTest, AWrongChainIsAnError) {
  EXPECT_THAT(Invert(g, Sizes({4}), std::vector<Movement>{Movement::Reshape(Sizes({5}))}),
              support::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("step 0")));
}

}  // namespace
}  // namespace kiln::tensor
