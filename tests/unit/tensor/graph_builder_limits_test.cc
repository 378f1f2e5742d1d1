// Strangers send graphs: every limit is named, and nothing is slow, deep or large before it is met.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/tensor/graph_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::tensor {
namespace {

using ::kiln::support::StatusIs;
using ::testing::HasSubstr;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr DType kF32 = DType::kFloat32;

TEST(GraphLimits, Nodes) {
  GraphBuilder b({.nodes = 3});
  for (int i = 0; i < 3; ++i) KILN_EXPECT_OK(b.Index(i));
  EXPECT_THAT(b.Index(3), StatusIs(kExhausted, HasSubstr("limit of 3 nodes")));
  EXPECT_EQ(b.num_nodes(), 3);
}

TEST(GraphLimits, FailedCallsCount) {
  GraphBuilder b({.nodes = 3});
  for (int i = 0; i < 3; ++i) b.Contiguous(Value{99}).IgnoreError();
  EXPECT_THAT(b.Index(3), StatusIs(kExhausted));
}

TEST(GraphLimits, Constants) {
  GraphBuilder b({.constants = 1});
  KILN_EXPECT_OK(b.Index(0));
  EXPECT_THAT(b.Index(1), StatusIs(kExhausted, HasSubstr("limit of 1 constants")));
}

TEST(GraphLimits, Rank) {
  GraphBuilder b;
  const std::vector<Dim> most(32, Dim(1)), more(33, Dim(1));
  KILN_EXPECT_OK(b.Input(0, kF32, most));
  EXPECT_THAT(b.Input(1, kF32, more),
              StatusIs(kExhausted, HasSubstr("dims: more than the limit of 32 axes")));
  EXPECT_THAT(b.Reshape(b.Const(kF32, {}), more), StatusIs(kExhausted));
  EXPECT_THAT(b.Iota(DType::kInt32, more, 0), StatusIs(kExhausted));
  GraphBuilder flat({.rank = 2});
  EXPECT_THAT(flat.Input(0, kF32, {1, 1, 1}), StatusIs(kExhausted, HasSubstr("limit of 2 axes")));
}

TEST(GraphLimits, Elements) {
  GraphBuilder b({.elems = 100});
  auto x = b.Input(0, kF32, {10, 10});
  KILN_EXPECT_OK(x);
  EXPECT_THAT(b.Input(1, kF32, {101}), StatusIs(kExhausted, HasSubstr("limit of 100 elements")));
  EXPECT_THAT(b.Pad(x, {0, 0, 0, 1}), StatusIs(kExhausted, HasSubstr("(pad), shape")));
  EXPECT_THAT(b.Bitcast(x, DType::kInt16), StatusIs(kExhausted));
  EXPECT_THAT(b.Input(2, kF32, {b.Variable("n", 0, 11), 10}), StatusIs(kExhausted));
  // A size of 0 does not hide the others.
  EXPECT_THAT(b.Input(3, kF32, {0, 101}), StatusIs(kExhausted));
}

TEST(GraphLimits, Dims) {
  GraphBuilder b({.dims = 4});
  KILN_EXPECT_OK(b.Input(0, kF32, {1, 1, 1}));
  EXPECT_THAT(b.Input(1, kF32, {1, 1}), StatusIs(kExhausted, HasSubstr("limit of 4 sizes")));
}

TEST(GraphLimits, TermsOfASize) {
  GraphBuilder b;
  auto n = b.Variable("n", 0, 1);
  auto product = n;
  absl::Status status;
  for (int i = 0; i < 64 && status.ok(); ++i) {  // As a tree, 2^64 terms.
    product = b.Alu(Op::kMul, {product, product});
    status = product.status();
  }
  EXPECT_THAT(status, StatusIs(kExhausted, HasSubstr("limit of 256 terms of a size")));
}

TEST(GraphLimits, TermsThatMovementsAdd) {
  GraphBuilder b({.nodes = 1 << 12});
  absl::StatusOr<Value> x = b.Input(0, kF32, {1});
  for (int i = 0; i < 1000 && x.ok(); ++i) {
    x = b.Pad(x, {b.Variable("v" + std::to_string(i), 0, 1), 0});
  }
  EXPECT_THAT(x, StatusIs(kExhausted, HasSubstr("terms of a size")));
}

TEST(GraphLimits, WorkOnSizes) {
  GraphBuilder b({.dim_work = 1000});
  auto n = b.Variable("n", 1, 4);
  absl::StatusOr<Value> x = b.Input(0, kF32, {n, 2});
  for (int i = 0; i < 1000 && x.ok(); ++i) x = b.Permute(x, {1, 0});
  EXPECT_THAT(x, StatusIs(kExhausted, HasSubstr("terms of symbolic sizes in all")));
}

TEST(GraphLimits, Conditions) {
  GraphBuilder b({.conditions = 2});
  auto n = b.Variable("n", 1, 8);
  auto x = b.Input(0, kF32, {n});
  KILN_EXPECT_OK(b.Shrink(x, {0, 2}));
  KILN_EXPECT_OK(b.Shrink(x, {0, 3}));
  KILN_EXPECT_OK(b.Shrink(x, {1, 3}));  // The same condition.
  EXPECT_THAT(b.Shrink(x, {0, 4}), StatusIs(kExhausted, HasSubstr("limit of 2 conditions")));
}

TEST(GraphLimits, SlotsAndNames) {
  GraphBuilder b({.slot = 7, .name_bytes = 4});
  KILN_EXPECT_OK(b.Input(7, kF32, {}));
  EXPECT_THAT(b.Input(8, kF32, {}), StatusIs(kExhausted, HasSubstr("slot")));
  EXPECT_THAT(b.Variable("names", 0, 1), StatusIs(kExhausted, HasSubstr("name")));
  EXPECT_THAT(b.Copy(b.Input(0, kF32, {}), "cpu:0"), StatusIs(kExhausted, HasSubstr("device")));
  EXPECT_THAT(b.Label("a long label").Index(0), ::kiln::support::IsOk());
}

TEST(GraphLimits, WorkOnWrites) {
  GraphBuilder b({.assign_work = 100});
  auto x = b.Input(0, kF32, {4});
  auto first = b.Assign(x, b.Alu(Op::kNeg, {x}));
  absl::StatusOr<Value> v = b.Alu(Op::kNeg, {first});
  for (int i = 0; i < 1000; ++i) v = b.Alu(i % 2 == 0 ? Op::kSin : Op::kSqrt, {v});
  auto second = b.Assign(x, v);
  EXPECT_THAT(std::move(b).Finish({second}), StatusIs(kExhausted, HasSubstr("writes to inputs")));
}

// ** depth **

TEST(GraphLimits, DeepGraphsAreLinear) {
  GraphBuilder b;
  absl::StatusOr<Value> x = b.Input(0, kF32, {4, 4});
  for (int i = 0; i < 60'000; ++i) {
    x = b.Permute(b.Alu(i % 2 == 0 ? Op::kSin : Op::kSqrt, {x}), {1, 0});
  }
  KILN_EXPECT_OK(std::move(b).Finish({x}));
}

TEST(GraphLimits, ManyWritesInOneChainAreLinear) {
  GraphBuilder b;
  absl::StatusOr<Value> x = b.Input(0, kF32, {4});
  for (int i = 0; i < 60'000; ++i) x = b.Assign(x, b.Alu(i % 2 == 0 ? Op::kSin : Op::kSqrt, {x}));
  KILN_EXPECT_OK(std::move(b).Finish({x}));
}

}  // namespace
}  // namespace kiln::tensor
