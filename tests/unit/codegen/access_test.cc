#include "core/codegen/access.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"

namespace kiln::codegen {
namespace {

using ::kiln::support::IsOk;
using ::kiln::support::StatusIs;
using ::testing::HasSubstr;

class AccessTest : public ::testing::Test {
 protected:
  Ref Memory(int64_t elems, std::string_view name = "data") {
    return g_.Param(DType::kInt32, name, 0, elems, AddressSpace::kGlobal);
  }
  Ref Place(Ref memory, Ref index, Ref gate = nullptr) {
    return gate == nullptr ? g_.Make(Op::kIndex, memory->dtype, {memory, index})
                           : g_.Make(Op::kIndex, memory->dtype, {memory, index, gate});
  }
  Ref Load(Ref memory, Ref index, Ref gate = nullptr) {
    return g_.Make(Op::kLoad, memory->dtype, {Place(memory, index, gate)});
  }
  Ref Store(Ref place, Ref value) { return g_.Make(Op::kStore, DType::kVoid, {place, value}); }
  Ref If(Ref condition) { return g_.Make(Op::kIf, DType::kVoid, {condition}); }
  // Loads `memory[index]` inside of a block.
  Ref LoadIn(Ref block, Ref memory, Ref index) {
    return g_.Make(Op::kLoad, memory->dtype,
                   {Place(memory, index), g_.Int(memory->dtype, 0), block});
  }
  Ref AtLeast(Ref x, int64_t c) { return g_.Not(g_.Lt(x, g_.Index(c))); }
  Ref Below(Ref x, int64_t c) { return g_.Lt(x, g_.Index(c)); }
  absl::Status Check(Ref n) { return CheckAccesses(g_, n); }

  Graph g_;
  const Ref i_ = g_.Variable("i", 0, 20);
  const Ref j_ = g_.Variable("j", -5, 20);
};

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST_F(AccessTest, ComparesBoundsWithTheSizeOfTheBuffer) {
  KILN_EXPECT_OK(Check(Load(Memory(21), i_)));
  EXPECT_THAT(
      Check(Load(Memory(20), i_)),
      StatusIs(kInvalid, HasSubstr("has an index in [0, 20], buffer \"data\" has 20 elements")));
  EXPECT_THAT(Check(Load(Memory(21), j_)), StatusIs(kInvalid, HasSubstr("[-5, 20]")));
}

TEST_F(AccessTest, TrustsAGate) {
  KILN_EXPECT_OK(Check(Load(Memory(16), i_, Below(i_, 16))));
  EXPECT_THAT(Check(Load(Memory(16), i_, Below(i_, 17))), StatusIs(kInvalid, HasSubstr("[0, 16]")));
  KILN_EXPECT_OK(Check(Load(Memory(16), j_, g_.And(AtLeast(j_, 0), Below(j_, 16)))));
  EXPECT_THAT(Check(Load(Memory(16), j_, Below(j_, 16))), StatusIs(kInvalid));
  // The gate speaks of a part of the index.
  const Ref sum = g_.Add(g_.Mul(i_, g_.Index(4)), g_.Index(3));
  KILN_EXPECT_OK(Check(Load(Memory(32), sum, Below(i_, 8))));
  EXPECT_THAT(Check(Load(Memory(31), sum, Below(i_, 8))), StatusIs(kInvalid));
}

TEST_F(AccessTest, TrustsAGateOnASum) {
  const Ref block = g_.Variable("block", 0, 4), lane = g_.Variable("lane", 0, 3);
  const Ref sum = g_.Add(g_.Mul(block, g_.Index(4)), lane);
  KILN_EXPECT_OK(Check(Load(Memory(19), sum, Below(sum, 19))));
  EXPECT_THAT(Check(Load(Memory(18), sum, Below(sum, 19))), StatusIs(kInvalid));
  const Ref shifted = g_.Add(sum, g_.Index(-19));
  KILN_EXPECT_OK(Check(Load(Memory(1), shifted, AtLeast(sum, 19))));
}

TEST_F(AccessTest, AllowsWhatNeverHappens) {
  KILN_EXPECT_OK(Check(Load(Memory(4), g_.Index(100), g_.Bool(false))));
  KILN_EXPECT_OK(Check(Load(Memory(4), i_, Below(i_, 0))));
}

TEST_F(AccessTest, TakesAnyIndexFromZeroOnIfTheSizeIsUnknown) {
  KILN_EXPECT_OK(Check(Load(Memory(-1), i_)));
  EXPECT_THAT(Check(Load(Memory(-1), j_)), StatusIs(kInvalid, HasSubstr("unknown number")));
}

TEST_F(AccessTest, ChecksBothSidesOfAnAssignment) {
  const Ref in = Memory(21, "in"), out = Memory(20, "out");
  EXPECT_THAT(Check(Store(Place(out, i_), Load(in, i_))), StatusIs(kInvalid, HasSubstr("\"out\"")));
  KILN_EXPECT_OK(Check(Store(Place(out, i_, Below(i_, 20)), Load(in, i_))));
  // The gate of a store does not guard what its value loads.
  EXPECT_THAT(Check(Store(Place(out, i_, Below(i_, 20)), Load(Memory(20, "in"), i_))),
              StatusIs(kInvalid, HasSubstr("\"in\"")));
}

TEST_F(AccessTest, TrustsTheGateOfAGatedStore) {
  const Ref place = Place(Memory(16), i_);
  const auto gated = [&](int64_t c) {
    return g_.Make(Op::kStore, DType::kVoid, {place, g_.Int(DType::kInt32, 1), Below(i_, c)});
  };
  KILN_EXPECT_OK(Check(gated(16)));
  EXPECT_THAT(Check(gated(17)), StatusIs(kInvalid));
}

TEST_F(AccessTest, TrustsTheBlocksThatANodeDependsOn) {
  const Ref memory = Memory(16);
  const Ref load = LoadIn(If(Below(i_, 16)), memory, i_);
  KILN_EXPECT_OK(Check(load));
  KILN_EXPECT_OK(Check(Store(Place(memory, i_), load)));
  EXPECT_THAT(Check(LoadIn(If(Below(i_, 17)), memory, i_)), StatusIs(kInvalid));
}

TEST_F(AccessTest, LeavesABlockWithItsEnd) {
  const Ref memory = Memory(16);
  const Ref block = If(Below(i_, 16));
  const Ref inside = Store(Place(memory, i_), LoadIn(block, memory, i_));
  const Ref end = g_.Make(Op::kEndIf, DType::kVoid, {block, inside});
  KILN_EXPECT_OK(Check(end));
  EXPECT_THAT(Check(LoadIn(end, memory, i_)), StatusIs(kInvalid));
}

TEST_F(AccessTest, LooksThroughAfter) {
  const Ref memory = Memory(20);
  const Ref effect = Store(Place(memory, g_.Index(0)), g_.Int(DType::kInt32, 1));
  const Ref after = g_.Make(Op::kAfter, memory->dtype, {memory, effect});
  EXPECT_THAT(Check(Load(after, i_)), StatusIs(kInvalid, HasSubstr("20 elements")));
  KILN_EXPECT_OK(Check(Load(after, g_.Index(19))));
}

TEST_F(AccessTest, DoesNotBelieveBoundsOfWhatWraps) {
  const Ref k = g_.Variable(DType::kInt32, "k", Scalar::Int(0), Scalar::Int(INT32_MAX));
  const Ref wraps =
      g_.Mod(g_.Mul(k, g_.Int(DType::kInt32, 3)), g_.Int(DType::kInt32, 16));  // May be negative.
  EXPECT_THAT(Check(Load(Memory(16), wraps)), StatusIs(kInvalid));
  KILN_EXPECT_OK(Check(Load(Memory(16), g_.Mod(k, g_.Int(DType::kInt32, 16)))));
}

TEST_F(AccessTest, GoesThroughDeepGraphs) {
  Ref n = g_.Int(DType::kInt32, 0);
  const Ref memory = Memory(21);
  for (int k = 0; k < 100000; ++k) n = g_.Add(Load(memory, g_.Index(k % 21)), n);
  KILN_EXPECT_OK(Check(n));
}

}  // namespace
}  // namespace kiln::codegen
