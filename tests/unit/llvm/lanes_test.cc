#include "backends/llvm/lanes.h"

#include "tests/conformance/program_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::backend_llvm {
namespace {

using conformance::ProgramBuilder;

TEST(Lanes, CombinationsAreRowMajorInTheOrderOfTheAxes) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 3 * 4 * 16);
  Ref x = b.Lane(3), y = b.Lane(4), v = b.Vector(16);
  b.Store(out, b.Add(b.Add(b.Mul(x, 64), b.Mul(y, 16)), v), b.Int(0));
  KILN_ASSERT_OK_AND_ASSIGN(const Lanes lanes, Lanes::Of(b.Finish()));
  EXPECT_EQ(lanes.width(), 16);
  ASSERT_EQ(lanes.num_axes(), 2);
  EXPECT_EQ(lanes.ShapeOf(v), (LaneShape{0, true}));
  const uint32_t both = lanes.ShapeOf(x).axes | lanes.ShapeOf(y).axes;
  EXPECT_EQ(both, 3u);
  EXPECT_EQ(lanes.Count(both), 12);
  EXPECT_EQ(lanes.Count(0), 1);
  const int first = lanes.ShapeOf(x).axes == 1 ? 3 : 4, second = 12 / first;
  for (int c = 0; c < 12; ++c) {
    EXPECT_EQ(lanes.Digit(c, both, 0), c / second);
    EXPECT_EQ(lanes.Digit(c, both, 1), c % second);
    EXPECT_EQ(lanes.Project(c, both, 1), c / second);
    EXPECT_EQ(lanes.Project(c, both, 2), c % second);
    EXPECT_EQ(lanes.Project(c, both, 0), 0);
    EXPECT_EQ(lanes.Project(c, both, both), c);
  }
}

TEST(Lanes, TooManyAreRefused) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 1024);
  b.Store(out, b.Add(b.Mul(b.Lane(64), 16), b.Vector(16)), b.Int(0));
  EXPECT_THAT(Lanes::Of(b.Finish()),
              support::StatusIs(absl::StatusCode::kUnimplemented, ::testing::HasSubstr("512")));
}

}  // namespace
}  // namespace kiln::backend_llvm
