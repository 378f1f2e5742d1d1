// Loads and stores: strides, gathers, gates, dtypes.
#include <numeric>

#include "tests/conformance/conformance.h"
#include "tests/conformance/hard_operands.h"

namespace kiln::conformance {
namespace {

using MemoryConformance = ConformanceTest;

std::vector<int32_t> Iota(int n) {
  std::vector<int32_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

Bytes Zeros(int n) { return ToBytes(std::vector<int32_t>(static_cast<size_t>(n))); }

TEST_F(MemoryConformance, VectorsLoadAndStoreWithAnyStride) {
  for (const int from : {1, -1, 0, 2, 3, -2, 5}) {
    for (const int to : {1, -1, 2, 7}) {
      ProgramBuilder b;
      Ref out = b.Buffer(DType::kInt32, 128), in = b.Buffer(DType::kInt32, 256);
      Ref lane = b.Vector(16);
      Ref v = b.Load(in, b.Add(b.Mul(lane, from), 100));
      b.Store(out, b.Add(b.Mul(lane, to), to < 0 ? 16 : 1), b.Mul(v, 3));
      KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                                Run(b.Finish(), {Zeros(128), ToBytes(Iota(256))}));
      std::vector<int32_t> expected(128);
      for (int i = 0; i < 16; ++i) {
        expected[static_cast<size_t>(i * to + (to < 0 ? 16 : 1))] = (i * from + 100) * 3;
      }
      EXPECT_EQ(IntsOf(result[0]), expected) << from << " " << to;
    }
  }
}

// Every dtype in memory, moved by vectors, strides and gathers.
TEST_F(MemoryConformance, ValuesOfEveryDTypeKeepTheirBits) {
  for (int t = 0; t < dtype::kNumDTypes; ++t) {
    const DType d = static_cast<DType>(t);
    if (dtype::SizeBits(d) == 0) continue;
    std::vector<Scalar> values;
    for (const std::vector<Scalar> some = HardOperands(d, 64); values.size() < 64;) {
      values.push_back(some[values.size() % some.size()]);
    }
    for (const int step : {1, 3}) {
      ProgramBuilder b;
      Ref out = b.Buffer(d, 64), in = b.Buffer(d, 64), order = b.Buffer(DType::kInt32, 64);
      Ref lane = b.Vector(16);
      b.Store(out, b.Mul(lane, step), b.Load(in, b.Mul(lane, step)));
      Ref at = b.Load(order, lane);
      b.Store(out, b.Add(lane, 48), b.Load(in, at));
      std::vector<int32_t> indices(64);
      for (int i = 0; i < 16; ++i) indices[static_cast<size_t>(i)] = (i * 29 + 11) % 64;
      KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                                Run(b.Finish(), {ToBytes(d, std::vector<Scalar>(64)),
                                                 ToBytes(d, values), ToBytes(indices)}));
      for (size_t i = 0; i < 16; ++i) {
        const size_t place = i * static_cast<size_t>(step);
        if (place < 48) {
          EXPECT_EQ(ValueAt(result[0], d, place), values[place]) << dtype::Name(d) << " " << place;
        }
        EXPECT_EQ(ValueAt(result[0], d, 48 + i), values[static_cast<size_t>(indices[i])])
            << dtype::Name(d) << " " << i;
      }
    }
  }
}

// out[i] = in[f(i)] where the gate is on, else -5, for a vector of 16 and for scalars. Where the gate
// is off, the index is far away from all memory.
TEST_F(MemoryConformance, GatedLoadsDoNotTouchMemory) {
  for (const bool vector : {true, false}) {
    for (const int stride : {1, 2, -1, 0}) {
      for (const int limit : {0, 1, 7, 16}) {
        ProgramBuilder b;
        Ref out = b.Buffer(DType::kInt32, 16), in = b.Buffer(DType::kInt32, 64);
        Ref i = vector ? b.Vector(16) : b.Loop(16);
        Ref gate = b.graph().Lt(i, b.Int(limit));
        // The whole address is off, not only where it is read.
        Ref away = b.graph().Where(gate, b.Int(0), b.Int(1 << 28));
        Ref index = b.Add(b.Add(b.Mul(i, stride), 20), away);
        b.Store(out, i, b.Load(in, index, gate, b.Int(-5)));
        KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                                  Run(b.Finish(), {Zeros(16), ToBytes(Iota(64))}));
        for (int k = 0; k < 16; ++k) {
          EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], k < limit ? k * stride + 20 : -5)
              << vector << " " << stride << " " << limit << " " << k;
        }
      }
    }
  }
}

// The index of a lane that is off is beyond the buffer, as at the edge of a tensor.
TEST_F(MemoryConformance, GatesOfOneLaneShapeGuardAffineIndices) {
  for (const bool gate_by_vector : {true, false}) {
    ProgramBuilder b;
    const int64_t far = int64_t{1} << 24;
    Ref out = b.Buffer(DType::kInt32, 64), in = b.Buffer(DType::kInt32, far + 64);
    Ref row = b.Lane(4), lane = b.Vector(16);
    Ref gate = b.graph().Lt(gate_by_vector ? lane : row, b.Int(2));
    Ref index = gate_by_vector ? b.Add(b.Mul(lane, far), row) : b.Add(b.Mul(row, far), lane);
    // Without a gate the store would be to a place of its own for each lane.
    b.Store(out, b.Add(b.Mul(row, 16), lane), b.Load(in, index, gate, b.Int(-1)));
    // Elements beyond 2 * far are not there: only lane or row 0 is read, or 1 at `far`.
    Ref near = b.graph().Lt(gate_by_vector ? lane : row, b.Int(1));
    b.Store(out, b.Add(b.Mul(row, 16), lane), b.Load(in, index, near, b.Int(-1)));
    const codegen::Program program = b.Finish();
    std::vector<int32_t> big(static_cast<size_t>(far + 64));
    std::iota(big.begin(), big.end(), 0);
    KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(program, {Zeros(64), ToBytes(big)}));
    for (int r = 0; r < 4; ++r) {
      for (int l = 0; l < 16; ++l) {
        const bool on = (gate_by_vector ? l : r) < 1;
        EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(r * 16 + l)],
                  on ? (gate_by_vector ? r : l) : -1);
      }
    }
  }
}

TEST_F(MemoryConformance, GatedStoresWriteWhereTheGateIsOn) {
  for (const bool vector : {true, false}) {
    for (const int stride : {1, 2, -1}) {
      ProgramBuilder b;
      Ref out = b.Buffer(DType::kInt32, 64);
      Ref i = vector ? b.Vector(16) : b.Loop(16);
      Ref gate = b.graph().Ne(b.graph().Mod(i, b.Int(3)), b.Int(0));
      Ref away = b.graph().Where(gate, b.Int(0), b.Int(-(1 << 28)));
      b.Store(out, b.Add(b.Add(b.Mul(i, stride), 20), away), b.Add(i, 100), gate);
      KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(b.Finish(), {Zeros(64)}));
      std::vector<int32_t> expected(64);
      for (int k = 0; k < 16; ++k) {
        if (k % 3 != 0) expected[static_cast<size_t>(k * stride + 20)] = k + 100;
      }
      EXPECT_EQ(IntsOf(result[0]), expected) << vector << " " << stride;
    }
  }
}

TEST_F(MemoryConformance, GatesWorkOnEveryDType) {
  for (int t = 0; t < dtype::kNumDTypes; ++t) {
    const DType d = static_cast<DType>(t);
    if (dtype::SizeBits(d) == 0) continue;
    ProgramBuilder b;
    Ref out = b.Buffer(d, 16), in = b.Buffer(d, 16);
    Ref lane = b.Vector(16);
    Ref first = b.graph().Lt(lane, b.Int(11));
    Ref second = b.graph().Lt(b.Int(4), lane);
    Ref other = b.graph().Const(d, dtype::IsFloat(d) ? Scalar::Float(1) : Scalar::Int(1));
    b.Store(out, lane, b.Load(in, lane, first, other), second);
    std::vector<Scalar> values = HardOperands(d, 32), zeros(16);
    while (values.size() < 16) values.push_back(values[values.size() % 2]);
    values.resize(16);
    if (dtype::IsFloat(d)) zeros.assign(16, Scalar::Float(0));
    KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                              Run(b.Finish(), {ToBytes(d, zeros), ToBytes(d, values)}));
    for (size_t i = 0; i < 16; ++i) {
      const Scalar expected = i <= 4 ? zeros[i] : i < 11 ? values[i] : other->arg.scalar();
      EXPECT_EQ(ValueAt(result[0], d, i), expected) << dtype::Name(d) << " " << i;
    }
  }
}

// In place: a kernel may load from what it stores to, at the same element.
TEST_F(MemoryConformance, KernelsWorkInPlace) {
  ProgramBuilder b;
  Ref x = b.Buffer(DType::kInt32, 256);
  Ref i = b.Loop(4), row = b.Lane(4), lane = b.Vector(16);
  Ref at = b.Add(b.Add(b.Mul(i, 64), b.Mul(row, 16)), lane);
  b.Store(x, at, b.Add(b.Mul(b.Load(x, at), 2), 1));
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(b.Finish(), {ToBytes(Iota(256))}));
  for (int k = 0; k < 256; ++k) EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], 2 * k + 1);
}

// Element indices that don't fit 32 bits, and counters whose sum would wrap if it were taken apart.
TEST_F(MemoryConformance, IndicesOfSixtyFourBits) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 16), in = b.Buffer(DType::kInt32, 64);
  Ref n = b.Variable("n", -(int64_t{1} << 40), int64_t{1} << 40, DType::kInt64);
  Ref lane = b.Vector(16);
  Ref wide = b.graph().Cast(lane, DType::kInt64);
  Ref index = b.Add(b.Add(wide, n), -(int64_t{1} << 35));
  b.Store(out, lane, b.Load(in, index));
  const int64_t value = (int64_t{1} << 35) + 9;
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                            Run(b.Finish(), {Zeros(16), ToBytes(Iota(64))}, {value}));
  for (int k = 0; k < 16; ++k) EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], k + 9);
}

TEST_F(MemoryConformance, IndicesMayWrapOnTheWay) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 16), in = b.Buffer(DType::kInt32, 64);
  Ref n = b.Variable("n", -2147483648LL, 2147483647LL);
  Ref lane = b.Vector(16);
  // n + 2^31-1 wraps; divided, it is not what mathematical integers would give.
  Ref wrapped = b.Add(n, 2147483647LL);
  Ref index = b.Add(lane, b.graph().And(wrapped, b.Int(15)));
  b.Store(out, lane, b.Load(in, index));
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                            Run(b.Finish(), {Zeros(16), ToBytes(Iota(64))}, {int64_t{13}}));
  for (int k = 0; k < 16; ++k) EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], k + 12);
}

}  // namespace
}  // namespace kiln::conformance
