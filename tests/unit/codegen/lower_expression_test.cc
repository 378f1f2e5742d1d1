#include "core/codegen/lower_expression.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/status_matchers.h"

namespace kiln::codegen {
namespace {

class LowerExpressionTest : public ::testing::Test {
 protected:
  Ref Lower(Ref n, const OpSupport& target = {}) {
    const absl::StatusOr<Ref> result = LowerExpression(g_, n, target);
    EXPECT_THAT(result, support::IsOk());
    return result.ok() ? *result : n;
  }
  Ref Place(Ref memory, Ref index, Ref gate = nullptr) {
    return gate == nullptr ? g_.Make(Op::kIndex, memory->dtype, {memory, index})
                           : g_.Make(Op::kIndex, memory->dtype, {memory, index, gate});
  }
  Ref Load(Ref place, Ref order = nullptr) {
    const Ref zero = g_.Const(place->dtype, Scalar());
    return order == nullptr ? g_.Make(Op::kLoad, place->dtype, {place})
                            : g_.Make(Op::kLoad, place->dtype, {place, zero, order});
  }
  Ref Store(Ref place, Ref value) { return g_.Make(Op::kStore, DType::kVoid, {place, value}); }
  Ref Sink(std::initializer_list<Ref> effects) { return g_.Make(Op::kSink, DType::kVoid, effects); }
  int Count(Ref root, Op op) {
    int count = 0;
    uop::Visit(root, [&](Ref n) {
      count += n->Is(op) ? 1 : 0;
      return true;
    });
    return count;
  }

  Graph g_;
  const Ref out_ = g_.Param(DType::kFloat32, "out", 0, -1, AddressSpace::kGlobal);
  const Ref shared_ = g_.Param(DType::kFloat32, "shared", 1, 16, AddressSpace::kLocal);
  const Ref thread_ = g_.Special("lidx0", g_.Int(DType::kInt32, 16));
  const Ref zero_ = g_.Int(DType::kInt32, 0), one_ = g_.Int(DType::kInt32, 1);
  const Ref gate_ = g_.Lt(thread_, one_);
  // What all threads write to shared memory before they meet.
  const Ref barrier_ =
      g_.Make(Op::kBarrier, DType::kVoid,
              {Store(Place(shared_, thread_), g_.Const(DType::kFloat32, Scalar::Float(42)))});
};

TEST_F(LowerExpressionTest, PutsGatedStoresBehindABarrierIntoOneBlock) {
  const Ref root = Sink({Store(Place(out_, zero_, gate_), Load(Place(shared_, zero_), barrier_)),
                         Store(Place(out_, one_, gate_), Load(Place(shared_, one_), barrier_))});
  const Ref block = g_.Make(Op::kIf, DType::kVoid, {gate_, barrier_});
  EXPECT_EQ(Lower(root), Sink({Store(Place(out_, zero_), Load(Place(shared_, zero_), block)),
                               Store(Place(out_, one_), Load(Place(shared_, one_), block))}));
}

TEST_F(LowerExpressionTest, TakesOperationsOfStacksAndScalarsApart) {
  const Ref a = Load(Place(out_, zero_)), b = Load(Place(out_, one_)),
            c = Load(Place(shared_, one_));
  const Ref v = g_.Make(Op::kStack, DType::kFloat32, {a, b});
  const Ref two = g_.Const(DType::kFloat32, Scalar::Float(2));
  const auto pair = [&](Ref x, Ref y) { return g_.Make(Op::kStack, DType::kFloat32, {x, y}); };
  EXPECT_EQ(Lower(g_.Add(v, v)), pair(g_.Mul(a, two), g_.Mul(b, two)));
  EXPECT_EQ(Lower(g_.Mul(v, c)), pair(g_.Mul(a, c), g_.Mul(b, c)));
  EXPECT_EQ(Lower(g_.Where(gate_, v, two)), pair(g_.Where(gate_, a, two), g_.Where(gate_, b, two)));
}

TEST_F(LowerExpressionTest, KeepsTheGateOfAStoreWithoutABarrier) {
  const Ref store = Store(Place(out_, zero_, gate_), Load(Place(shared_, zero_)));
  EXPECT_EQ(Lower(store), store);
}

TEST_F(LowerExpressionTest, KeepsStoresBeforeTheBarrierOutOfTheBlock) {
  // The second stage reads what the first wrote, each behind a barrier of its own.
  const Ref first = Load(Place(shared_, one_), barrier_);
  const Ref second = g_.Make(Op::kBarrier, DType::kVoid, {Store(Place(shared_, thread_), first)});
  const Ref value = g_.Add(Load(Place(shared_, zero_), second), first);
  const Ref lowered = Lower(Store(Place(out_, zero_, gate_), value));
  EXPECT_EQ(Count(lowered, Op::kIf), 2) << uop::ToText(lowered);
  EXPECT_TRUE(uop::Visit(second, [](Ref n) { return !n->Is(Op::kIf); }));
  EXPECT_FALSE(uop::Visit(lowered, [&](Ref n) { return n != second; }))
      << "the second stage has changed";
}

TEST_F(LowerExpressionTest, DropsGatesThatAlwaysHold) {
  EXPECT_EQ(Lower(Load(Place(out_, zero_, g_.Bool(true)))), Load(Place(out_, zero_)));
  EXPECT_EQ(Lower(Load(Place(out_, thread_, g_.Lt(thread_, g_.Int(DType::kInt32, 16))))),
            Load(Place(out_, thread_)));
}

TEST_F(LowerExpressionTest, LowersIndexArithmeticAndDividesByShifting) {
  const Ref i = g_.Variable("i", 0, 1000);
  const Ref load = Load(Place(out_, g_.IDiv(i, g_.Index(10))));
  const Ref lowered = Lower(load, {Op::kShr});
  EXPECT_TRUE(uop::Visit(lowered, [](Ref n) {
    return n->dtype != DType::kIndex && !n->Is(Op::kIDiv);
  })) << uop::ToText(lowered);
}

TEST_F(LowerExpressionTest, ComputesElementIndicesInInt32WhereTheGateAllows) {
  const Ref rows = g_.Param(DType::kInt64, "rows", 2, 16, AddressSpace::kGlobal);
  const Ref row = Load(Place(rows, zero_));
  const auto c = [&](int64_t v) { return g_.Int(DType::kInt64, v); };
  const Ref gate = g_.And(g_.Not(g_.Lt(row, c(0))), g_.Lt(row, c(3000)));
  const Ref element = g_.Mul(row, c(600));
  EXPECT_EQ(Lower(Load(Place(out_, element, gate)))->src(0)->src(1)->dtype, DType::kInt32);
  // Without the gate, or with one that allows too much, it stays as it is.
  EXPECT_EQ(Lower(Load(Place(out_, element)))->src(0)->src(1)->dtype, DType::kInt64);
  const Ref wide = g_.And(g_.Not(g_.Lt(row, c(0))), g_.Lt(row, c(30000000)));
  EXPECT_EQ(Lower(Load(Place(out_, element, wide)))->src(0)->src(1)->dtype, DType::kInt64);
}

}  // namespace
}  // namespace kiln::codegen
