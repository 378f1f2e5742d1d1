#include "core/tensor/movement.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/render.h"
#include "core/uop/facts.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/tensor/position_array.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Values of the variables for each of several runs.
using Runs = std::vector<std::vector<std::pair<std::string, int64_t>>>;

class MovementTest : public ::testing::Test {
 protected:
  std::vector<Ref> Sizes(absl::Span<const int64_t> sizes) { return Dims(g, sizes); }

  // Checks every element of a chain, before and after simplification, against arrays. Returns the
  // simplified access.
  Access Check(const std::vector<Ref>& base, const std::vector<Movement>& chain,
               const Runs& runs = {{}}) {
    Access simplified{};
    Check(base, chain, runs, simplified);
    return simplified;
  }

  std::string Index(const Access& a) { return symbolic::Render(a.index); }
  std::string Valid(const Access& a) { return symbolic::Render(a.valid); }

  Graph g;

 private:
  void Check(const std::vector<Ref>& base, const std::vector<Movement>& chain, const Runs& runs,
             Access& simplified) {
    KILN_ASSERT_OK_AND_ASSIGN(const CheckedShape shape, ShapeAfter(g, base, chain));
    KILN_ASSERT_OK_AND_ASSIGN(const Access access,
                              AccessOf(g, base, chain, RangesOver(g, shape.dims)));
    KILN_ASSERT_OK_AND_ASSIGN(simplified, SimplifyAccess(g, access));
    for (const auto& run : runs) {
      symbolic::Bindings values;
      for (const auto& [name, value] : run) values.variables.emplace(name, Scalar::Int(value));
      PositionArray array = BaseArray(Values(g, base, values));
      for (const Movement& step : chain) array = Moved(g, array, step, values);
      ASSERT_EQ(Values(g, shape.dims, values), array.shape);
      for (size_t p = 0; p < array.at.size(); ++p) {
        BindCoordinates(array.shape, static_cast<int64_t>(p), values);
        EXPECT_THAT(PositionOf(g, access, values), support::IsOkAndHolds(array.at[p]))
            << "element " << p;
        EXPECT_THAT(PositionOf(g, simplified, values), support::IsOkAndHolds(array.at[p]))
            << "element " << p << " of " << symbolic::Render(simplified.index);
      }
    }
  }
};

// ** each op alone **

TEST_F(MovementTest, NoStepIsRowMajor) {
  const Access a = Check(Sizes({2, 3}), {});
  EXPECT_EQ(Index(a), "((ridx0*3)+ridx1)");
  EXPECT_EQ(Valid(a), "True");
}

TEST_F(MovementTest, PermuteReordersAxes) {
  EXPECT_EQ(Index(Check(Sizes({2, 3, 4}), {Movement::Permute({2, 0, 1})})),
            "(((ridx1*12)+(ridx2*4))+ridx0)");
}

TEST_F(MovementTest, ExpandReadsTheOneElement) {
  EXPECT_EQ(Index(Check(Sizes({3, 1}), {Movement::Expand(Sizes({3, 4}))})), "ridx0");
  Check(Sizes({1, 3}), {Movement::Expand(Sizes({0, 3}))});
}

TEST_F(MovementTest, FlipMirrors) {
  EXPECT_EQ(Index(Check(Sizes({5}), {Movement::Flip(1)})), "((ridx0*-1)+4)");
  Check(Sizes({2, 3, 4}), {Movement::Flip(0b101)});
}

TEST_F(MovementTest, PadShiftsAndIsInvalidOutside) {
  const Access a = Check(Sizes({2, 3}), {Movement::Pad(Sizes({0, 1, 0, 0}))});
  EXPECT_EQ(Index(a), "((ridx0*3)+ridx1)");
  EXPECT_EQ(Valid(a), "(ridx0<2)");
  Check(Sizes({2, 3}), {Movement::Pad(Sizes({1, 2, 3, 0}))});
}

TEST_F(MovementTest, PadOfNothingHasNoValidElement) {
  EXPECT_EQ(Valid(Check(Sizes({0}), {Movement::Pad(Sizes({1, 2}))})), "False");
}

TEST_F(MovementTest, ShrinkShifts) {
  EXPECT_EQ(Index(Check(Sizes({9}), {Movement::Shrink(Sizes({2, 7}))})), "(ridx0+2)");
  Check(Sizes({4, 5}), {Movement::Shrink(Sizes({1, 3, 5, 5}))});
}

TEST_F(MovementTest, ReshapeMergesAndSplitsWithoutDivision) {
  EXPECT_EQ(Index(Check(Sizes({2, 3, 4}), {Movement::Reshape(Sizes({6, 4}))})),
            "((ridx0*4)+ridx1)");
  EXPECT_EQ(Index(Check(Sizes({24}), {Movement::Reshape(Sizes({2, 3, 4}))})),
            "(((ridx0*12)+(ridx1*4))+ridx2)");
  EXPECT_EQ(Index(Check({}, {Movement::Reshape(Sizes({1, 1}))})), "0");
  EXPECT_EQ(Index(Check(Sizes({1, 1}), {Movement::Reshape({})})), "0");
}

TEST_F(MovementTest, ReshapeOfShapesWithoutCommonFactorsGoesThroughThePosition) {
  Check(Sizes({2, 3}), {Movement::Permute({1, 0}), Movement::Reshape(Sizes({2, 3}))});
  Check(Sizes({4, 9, 5}), {Movement::Permute({2, 1, 0}), Movement::Reshape(Sizes({6, 6, 5}))});
  Check(Sizes({4, 6}), {Movement::Permute({1, 0}), Movement::Reshape(Sizes({8, 3}))});
}

TEST_F(MovementTest, ReshapeOfNoElements) {
  Check(Sizes({0, 3}), {Movement::Reshape(Sizes({7, 0}))});
}

// ** composed **

TEST_F(MovementTest, ReshapeAcrossPadKeepsPlainStrides) {
  const Access a = Check(Sizes({2, 5}),
                         {Movement::Pad(Sizes({2, 0, 0, 0})), Movement::Reshape(Sizes({2, 2, 5}))});
  EXPECT_EQ(Valid(a), "((ridx0<1)!=True)");
}

TEST_F(MovementTest, SplittingAndMergingBackIsPlain) {
  const Access a =
      Check(Sizes({6, 10}), {Movement::Reshape(Sizes({2, 3, 5, 2})),
                             Movement::Permute({0, 1, 2, 3}), Movement::Reshape(Sizes({6, 10}))});
  EXPECT_EQ(Index(a), "((ridx0*10)+ridx1)");
}

TEST_F(MovementTest, FlipTwiceIsPlain) {
  EXPECT_EQ(Index(Check(Sizes({3, 7}), {Movement::Flip(3), Movement::Flip(3)})),
            "((ridx0*7)+ridx1)");
}

TEST_F(MovementTest, ChainsOfEverything) {
  Check(Sizes({4, 6}), {Movement::Pad(Sizes({1, 1, 0, 2})), Movement::Flip(2),
                        Movement::Reshape(Sizes({2, 3, 4, 2})), Movement::Permute({3, 1, 0, 2}),
                        Movement::Shrink(Sizes({0, 2, 1, 3, 0, 2, 1, 4})),
                        Movement::Reshape(Sizes({4, 6})), Movement::Pad(Sizes({0, 1, 1, 1}))});
  Check(Sizes({3, 1, 4}),
        {Movement::Expand(Sizes({3, 5, 4})), Movement::Reshape(Sizes({15, 4})),
         Movement::Permute({1, 0}), Movement::Reshape(Sizes({60})), Movement::Flip(1),
         Movement::Shrink(Sizes({7, 50})), Movement::Pad(Sizes({3, 4}))});
}

// ** symbolic sizes **

TEST_F(MovementTest, SymbolicSizesAreOrdinaryDims) {
  Ref v = g.Variable("v", 1, 6);
  const Access a =
      Check({v, g.Index(3)}, {Movement::Permute({1, 0}), Movement::Reshape({g.Mul(v, g.Index(3))})},
            {{{"v", 1}}, {{"v", 4}}, {{"v", 6}}});
  EXPECT_EQ(uop::RangesOf(g, a.index).size(), 1);
}

TEST_F(MovementTest, EqualSymbolicProductsMergeAndSplitWithoutDivision) {
  Ref v = g.Variable("v", 1, 6);
  Ref w = g.Variable("w", 2, 4);
  const Runs runs = {{{"v", 1}, {"w", 2}}, {{"v", 5}, {"w", 3}}};
  const Access a = Check({v, g.Index(4), w},
                         {Movement::Reshape({g.Mul(v, g.Index(2)), g.Mul(g.Index(2), w)}),
                          Movement::Reshape({v, g.Index(4), w})},
                         runs);
  EXPECT_THAT(Index(a), ::testing::Not(AllOf(HasSubstr("//"), HasSubstr("%"))));
  Check({v, w},
        {Movement::Reshape({w, v}), Movement::Permute({1, 0}), Movement::Reshape({g.Mul(w, v)})},
        runs);
}

TEST_F(MovementTest, SymbolicPadShrinkAndExpand) {
  Ref v = g.Variable("v", 1, 5);
  const Runs runs = {{{"v", 1}}, {{"v", 3}}, {{"v", 5}}};
  Check(Sizes({5, 4}),
        {Movement::Shrink({g.Index(0), v, g.Index(0), g.Index(4)}),
         Movement::Pad({v, g.Sub(g.Index(6), v), g.Index(0), g.Index(0)})},
        runs);
  Check(Sizes({7}), {Movement::Shrink({v, g.Add(v, g.Index(2))}), Movement::Flip(1)}, runs);
  Check(Sizes({3, 1}),
        {Movement::Expand({g.Index(3), v}), Movement::Reshape({g.Mul(v, g.Index(3))})}, runs);
}

TEST_F(MovementTest, AnEmptySymbolicAxisHasNoElements) {
  Ref v = g.Variable("v", 0, 5);
  Check(Sizes({5, 2}),
        {Movement::Shrink({g.Index(0), v, g.Index(0), g.Index(2)}), Movement::Flip(1),
         Movement::Reshape({g.Mul(v, g.Index(2))})},
        {{{"v", 0}}, {{"v", 4}}});
}

TEST_F(MovementTest, PaddingAroundAnEmptySymbolicAxisDividesByNothing) {
  Ref v = g.Variable("v", 0, 5);
  Ref w = g.Variable("w", 0, 5);
  const Runs runs = {
      {{"v", 0}, {"w", 0}}, {{"v", 0}, {"w", 3}}, {{"v", 2}, {"w", 0}}, {{"v", 2}, {"w", 3}}};
  Check({v, g.Index(2), w},
        {Movement::Permute({1, 2, 0}), Movement::Reshape({g.Mul(g.Mul(v, w), g.Index(2))}),
         Movement::Pad(Sizes({1, 2}))},
        runs);
}

// ** nodes **

TEST_F(MovementTest, StepsAndNodesAreTheSame) {
  Ref x = g.Make(Op::kInput, DType::kFloat32, {g.Index(2), g.Index(3)}, Arg::Int(0));
  const std::vector<Movement> steps = {
      Movement::Permute({1, 0}),          Movement::Flip(2),
      Movement::Pad(Sizes({0, 1, 0, 0})), Movement::Shrink(Sizes({1, 4, 0, 2})),
      Movement::Reshape(Sizes({6, 1})),   Movement::Expand(Sizes({6, 5}))};
  Ref n = x;
  for (const Movement& step : steps) n = Apply(g, n, step);
  const MovementChain chain = ChainOf(n);
  EXPECT_EQ(chain.base, x);
  ASSERT_EQ(chain.steps.size(), steps.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    EXPECT_EQ(chain.steps[k].op, steps[k].op);
    EXPECT_EQ(chain.steps[k].dims, steps[k].dims);
    EXPECT_EQ(chain.steps[k].order, steps[k].order);
    EXPECT_EQ(chain.steps[k].flipped, steps[k].flipped);
  }
}

TEST_F(MovementTest, ShapeFactsOfNodesAgree) {
  Ref v = g.Variable("v", 1, 4);
  Ref x = g.Make(Op::kInput, DType::kFloat32, {v, g.Index(3)}, Arg::Int(0));
  const std::vector<Movement> steps = {Movement::Pad(Sizes({0, 1, 0, 0})),
                                       Movement::Permute({1, 0})};
  KILN_ASSERT_OK_AND_ASSIGN(const CheckedShape shape,
                            ShapeAfter(g, std::vector<Ref>{v, g.Index(3)}, steps));
  Ref n = x;
  for (const Movement& step : steps) n = Apply(g, n, step);
  KILN_ASSERT_OK_AND_ASSIGN(const absl::Span<const Ref> dims, uop::ShapeOf(g, n));
  EXPECT_THAT(shape.dims, ::testing::ElementsAreArray(dims.begin(), dims.end()));
}

TEST_F(MovementTest, AWrongNumberOfIndicesIsAnError) {
  EXPECT_THAT(AccessOf(g, Sizes({2, 3}), {}, Sizes({0})),
              StatusIs(kInvalid, HasSubstr("2 axes with 1 indices")));
}

}  // namespace
}  // namespace kiln::tensor
