#include "core/codegen/gate_loads.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/evaluate.h"
#include "tests/support/status_matchers.h"

namespace kiln::codegen::internal {
namespace {

class GateLoadsTest : public ::testing::Test {
 protected:
  Ref Gate(Ref n) {
    const absl::StatusOr<Ref> result = GateLoads(g_, n);
    EXPECT_THAT(result, support::IsOk());
    return result.ok() ? *result : n;
  }
  Ref Load(Ref index) { return g_.Make(Op::kLoad, in_->dtype, {Place(index, nullptr)}); }
  Ref Load(Ref index, Ref gate, Ref other) {
    return g_.Make(Op::kLoad, in_->dtype, {Place(index, gate), other});
  }
  Ref Place(Ref index, Ref gate) {
    return gate == nullptr ? g_.Make(Op::kIndex, in_->dtype, {in_, index})
                           : g_.Make(Op::kIndex, in_->dtype, {in_, index, gate});
  }
  Scalar Value(Ref n, int64_t i) {
    symbolic::Bindings bindings;
    bindings.ranges[0] = i;
    for (int64_t v : {1, 2, 3, 4}) bindings.buffers[0].push_back(Scalar::Int(v));
    const absl::StatusOr<Scalar> value = symbolic::Evaluate(g_, n, bindings);
    EXPECT_THAT(value, support::IsOk());
    return value.ok() ? *value : Scalar();
  }

  Graph g_;
  const Ref in_ = g_.Param(DType::kInt32, "in", 0, 4, AddressSpace::kGlobal);
  const Ref i_ = g_.Range(4, 0);
  const Ref p_ = g_.Lt(i_, g_.Index(2)), q_ = g_.Ne(i_, g_.Index(0));
  const Ref seven_ = g_.Int(DType::kInt32, 7), eight_ = g_.Int(DType::kInt32, 8);
};

TEST_F(GateLoadsTest, GatesEitherBranch) {
  EXPECT_EQ(Gate(g_.Where(p_, Load(i_), seven_)), Load(i_, p_, seven_));
  EXPECT_EQ(Gate(g_.Where(p_, seven_, Load(i_))), Load(i_, g_.Not(p_), seven_));
}

TEST_F(GateLoadsTest, JoinsConditionsWithTheSameAlternative) {
  const Ref inner = g_.Where(p_, Load(i_), seven_);
  EXPECT_EQ(Gate(g_.Where(q_, inner, seven_)), Load(i_, g_.And(p_, q_), seven_));
  EXPECT_EQ(Gate(g_.Where(q_, inner, eight_)), g_.Where(q_, Load(i_, p_, seven_), eight_));
}

TEST_F(GateLoadsTest, KeepsValues) {
  for (Ref n : {g_.Where(p_, Load(i_), seven_), g_.Where(p_, seven_, Load(i_)),
                g_.Where(q_, g_.Where(p_, Load(i_), seven_), seven_),
                g_.Where(q_, seven_, g_.Where(p_, Load(i_), seven_)),
                g_.Where(q_, g_.Where(p_, seven_, Load(i_)), eight_)}) {
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(Value(Gate(n), i), Value(n, i)) << i;
  }
}

TEST_F(GateLoadsTest, LeavesConditionsOnDataAndAlternativesThatAreComputed) {
  const Ref of_data = g_.Where(g_.Lt(Load(g_.Index(0)), seven_), Load(i_), seven_);
  EXPECT_EQ(Gate(of_data), of_data);
  const Ref of_two = g_.Where(p_, Load(i_), Load(g_.Index(0)));
  EXPECT_EQ(Gate(of_two), of_two);
}

}  // namespace
}  // namespace kiln::codegen::internal
