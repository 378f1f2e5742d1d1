// Loops, lanes, reductions, accumulators, conditions, variables, cores.
#include "core/dtype/alu.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/hard_operands.h"

namespace kiln::conformance {
namespace {

using ControlConformance = ConformanceTest;

std::vector<float> Ramp(int n) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i % 13 - 6);
  return values;
}

Bytes Zeros(int n) { return ToBytes(std::vector<int32_t>(static_cast<size_t>(n))); }

// c[m, n] = sum over k of a[m, k] * b[k, n] in tiles of 4 x 32, on a problem that is not square.
TEST_F(ControlConformance, MatmulInRegisterTiles) {
  constexpr int kM = 8, kN = 64, kK = 24;
  ProgramBuilder b("matmul");
  Ref c = b.Buffer(DType::kFloat32, kM * kN), x = b.Buffer(DType::kFloat32, kM * kK),
      y = b.Buffer(DType::kFloat32, kK * kN);
  Ref acc = b.Accumulator(DType::kFloat32, 128);
  Ref i = b.Loop(kM / 4), j = b.Loop(kN / 32);
  Ref row = b.Lane(4), half = b.Lane(2), lane = b.Vector(16);
  Ref element = b.Add(b.Add(b.Mul(row, 32), b.Mul(half, 16)), lane);
  b.Store(acc, element, b.Float(DType::kFloat32, 0));
  Ref column = b.Add(b.Add(b.Mul(j, 32), b.Mul(half, 16)), lane);
  Ref line = b.Add(b.Mul(i, 4), row);
  Ref out_index = b.Here(b.Add(b.Mul(line, kN), column));
  Ref k = b.Loop(b.Int(kK), AxisType::kReduce);
  Ref a = b.Load(x, b.Add(b.Mul(line, kK), k));
  Ref w = b.Load(y, b.Add(b.Mul(k, kN), column));
  b.Store(acc, element, b.Add(b.Load(acc, element), b.Mul(a, w)));
  b.End();
  b.Store(c, out_index, b.Load(acc, element));
  const std::vector<float> left = Ramp(kM * kK), right = Ramp(kK * kN);
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                            Run(b.Finish(), {Zeros(kM * kN), ToBytes(left), ToBytes(right)}));
  const std::vector<float> got = FloatsOf(result[0]);
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      float sum = 0;
      for (int q = 0; q < kK; ++q) {
        sum += left[static_cast<size_t>(m * kK + q)] * right[static_cast<size_t>(q * kN + n)];
      }
      EXPECT_EQ(got[static_cast<size_t>(m * kN + n)], sum) << m << " " << n;
    }
  }
}

// A reduction of each dtype over a vector, over other lanes, over both, and keeping the vector.
TEST_F(ControlConformance, LanesReduce) {
  for (const Op op : {Op::kAdd, Op::kMul, Op::kMax}) {
    for (int t = 0; t < dtype::kNumDTypes; ++t) {
      const DType d = static_cast<DType>(t);
      if (dtype::SizeBits(d) == 0 || !dtype::IsDefined(uop::ToAlu(op), d)) continue;
      ProgramBuilder b;
      Ref out = b.Buffer(d, 64), in = b.Buffer(d, 64);
      Ref row = b.Lane(4), lane = b.Vector(16);
      Ref v = b.Load(in, b.Add(b.Mul(row, 16), lane));
      b.Store(out, row, b.Reduce(op, v, {lane}));
      b.Store(out, b.Add(lane, 4), b.Reduce(op, v, {row}));
      b.Store(out, b.Int(20), b.Reduce(op, v, {lane, row}));
      // Small integers, so that no order of adding matters; ones and minus ones for products.
      std::vector<Scalar> values;
      for (int i = 0; i < 64; ++i) {
        const int small = op == Op::kMul ? (i % 7 == 0 ? 2 : 1) : i % 3 == 0;
        values.push_back(d == DType::kBool   ? Scalar::Bool(i % 5 != 0)
                         : dtype::IsFloat(d) ? Scalar::Float(small)
                                             : Scalar::Int(small));
      }
      KILN_ASSERT_OK_AND_ASSIGN(
          std::vector<Bytes> result,
          Run(b.Finish(), {ToBytes(d, std::vector<Scalar>(64)), ToBytes(d, values)}));
      const auto fold = [&](int from, int count, int step) {
        Scalar all = values[static_cast<size_t>(from)];
        for (int i = 1; i < count; ++i) {
          all = *dtype::EvalAlu(uop::ToAlu(op), d,
                                {all, values[static_cast<size_t>(from + i * step)]});
        }
        return all;
      };
      const std::string what = std::string(uop::Name(op)) + " " + std::string(dtype::Name(d));
      for (int r = 0; r < 4; ++r)
        EXPECT_EQ(ValueAt(result[0], d, static_cast<size_t>(r)), fold(r * 16, 16, 1)) << what;
      for (int l = 0; l < 16; ++l)
        EXPECT_EQ(ValueAt(result[0], d, static_cast<size_t>(4 + l)), fold(l, 4, 16)) << what;
      if (d != DType::kFp8E4M3 && d != DType::kFp8E5M2) {  // There the order matters.
        EXPECT_EQ(ValueAt(result[0], d, 20), fold(0, 64, 1)) << what;
      }
    }
  }
}

TEST_F(ControlConformance, VectorsOfOddWidthReduce) {
  for (const int width : {1, 2, 3, 5, 7, 12}) {
    ProgramBuilder b;
    Ref out = b.Buffer(DType::kInt32, 1), in = b.Buffer(DType::kInt32, 16);
    Ref lane = b.Vector(width);
    b.Store(out, b.Int(0), b.Reduce(Op::kAdd, b.Load(in, lane), {lane}));
    std::vector<int32_t> values(16);
    int32_t sum = 0;
    for (int i = 0; i < 16; ++i) {
      values[static_cast<size_t>(i)] = 1 << i;
      if (i < width) sum += 1 << i;
    }
    KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                              Run(b.Finish(), {Zeros(1), ToBytes(values)}));
    EXPECT_EQ(IntsOf(result[0])[0], sum) << width;
  }
}

// sum[r] = 0 + 1 + ... n-1, for n = 0 and more, inside of another loop.
TEST_F(ControlConformance, LoopsMayRunZeroTimes) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 4);
  Ref n = b.Variable("n", 0, 100);
  Ref acc = b.Accumulator(DType::kInt32, 1);
  Ref r = b.Loop(4);
  b.Store(acc, b.Int(0), b.Int(7));
  Ref end = b.graph().Mul(n, r);
  Ref i = b.Loop(end, AxisType::kReduce);
  b.Store(acc, b.Int(0), b.Add(b.Load(acc, b.Int(0)), i));
  b.End();
  b.Store(out, r, b.Load(acc, b.Int(0)));
  const codegen::Program program = b.Finish();
  for (const int64_t value : {0, 1, 5}) {
    KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(program, {Zeros(4)}, {value}));
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t turns = value * k;
      EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], 7 + turns * (turns - 1) / 2) << value;
    }
  }
}

TEST_F(ControlConformance, StoresInLoopsThatDoNotRunDoNothing) {
  for (const int end : {0, -3}) {
    ProgramBuilder b;
    Ref out = b.Buffer(DType::kInt32, 4);
    Ref i = b.Loop(end);
    b.Store(out, i, b.Int(9));
    KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(b.Finish(), {Zeros(4)}));
    EXPECT_EQ(result[0], Zeros(4));
  }
}

// Two accumulators in two loops of a nest, the inner one started anew by the outer.
TEST_F(ControlConformance, AccumulatorsInNestedLoops) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 12), in = b.Buffer(DType::kInt32, 5 * 3 * 6);
  Ref total = b.Accumulator(DType::kInt32, 6), part = b.Accumulator(DType::kInt32, 6);
  Ref lane = b.Lane(6);
  b.Store(total, lane, b.Int(0));
  Ref i = b.Loop(b.Int(5), AxisType::kReduce);
  b.Store(part, lane, b.Int(1));
  Ref j = b.Loop(b.Int(3), AxisType::kReduce);
  Ref v = b.Load(in, b.Add(b.Add(b.Mul(i, 18), b.Mul(j, 6)), lane));
  b.Store(part, lane, b.Mul(b.Load(part, lane), v));
  b.End();
  b.Store(total, lane, b.Add(b.Load(total, lane), b.Load(part, lane)));
  b.End();
  b.Store(out, lane, b.Load(total, lane));
  // Each loop has values that later code of the same depth uses.
  b.Store(part, lane, b.Int(3));
  Ref k = b.Loop(b.Int(2), AxisType::kReduce);
  b.Store(part, lane, b.Add(b.Load(part, lane), b.Add(k, 1)));
  b.End();
  b.Store(out, b.Add(lane, 6), b.Load(part, lane));
  std::vector<int32_t> values(90);
  for (int n = 0; n < 90; ++n) values[static_cast<size_t>(n)] = n % 7 - 3;
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                            Run(b.Finish(), {Zeros(12), ToBytes(values)}));
  for (int l = 0; l < 6; ++l) {
    int32_t sum = 0;
    for (int p = 0; p < 5; ++p) {
      int32_t product = 1;
      for (int q = 0; q < 3; ++q) product *= values[static_cast<size_t>(p * 18 + q * 6 + l)];
      sum += product;
    }
    EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(l)], sum) << l;
    EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(l + 6)], 3 + 1 + 2) << l;
  }
}

// Lane counters as values, and values with fewer lanes than what uses them.
TEST_F(ControlConformance, LanesAreValues) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kFloat32, 3 * 4 * 8), in = b.Buffer(DType::kFloat32, 3);
  Ref x = b.Lane(3), y = b.Lane(4), lane = b.Vector(8);
  Ref by_row = b.Load(in, x);
  const auto as_float = [&](Ref r) { return b.graph().Cast(r, DType::kFloat32); };
  Ref value = b.Add(b.Add(b.Mul(by_row, as_float(b.Mul(y, 10))), as_float(lane)),
                    as_float(b.graph().Cast(b.graph().Lt(lane, y), DType::kInt32)));
  b.Store(out, b.Add(b.Add(b.Mul(x, 32), b.Mul(y, 8)), lane), value);
  KILN_ASSERT_OK_AND_ASSIGN(
      std::vector<Bytes> result,
      Run(b.Finish(), {Zeros(96), ToBytes(std::vector<float>{100, 200, 300})}));
  const std::vector<float> got = FloatsOf(result[0]);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 8; ++k) {
        EXPECT_EQ(got[static_cast<size_t>(i * 32 + j * 8 + k)],
                  static_cast<float>((i + 1) * 100 * j * 10 + k + (k < j ? 1 : 0)));
      }
    }
  }
}

TEST_F(ControlConformance, ConditionsGuardEffects) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt32, 10);
  Ref acc = b.Accumulator(DType::kInt32, 1);
  b.Store(acc, b.Int(0), b.Int(0));
  Ref i = b.Loop(10);
  b.If(b.graph().Lt(b.graph().Mod(i, b.Int(4)), b.Int(2)));
  b.Store(out, i, b.Mul(i, 11));
  b.End();
  b.End();
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(b.Finish(), {Zeros(10)}));
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], k % 4 < 2 ? k * 11 : 0);
  }
}

TEST_F(ControlConformance, VariablesOfBothWidths) {
  ProgramBuilder b;
  Ref out = b.Buffer(DType::kInt64, 3);
  Ref wide = b.Variable("a_wide", -(int64_t{1} << 62), int64_t{1} << 62, DType::kInt64);
  Ref narrow = b.Variable("narrow", -100, 100);
  b.Store(out, b.Int(0), wide);
  b.Store(out, b.Int(1), b.graph().Cast(narrow, DType::kInt64));
  b.Store(out, b.Int(2), b.Add(wide, b.graph().Cast(narrow, DType::kInt64)));
  KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result,
                            Run(b.Finish(), {Bytes(24)}, {-(int64_t{1} << 50), int64_t{-7}}));
  EXPECT_EQ(ValueAt(result[0], DType::kInt64, 0).AsInt(), -(int64_t{1} << 50));
  EXPECT_EQ(ValueAt(result[0], DType::kInt64, 1).AsInt(), -7);
  EXPECT_EQ(ValueAt(result[0], DType::kInt64, 2).AsInt(), -(int64_t{1} << 50) - 7);
}

TEST_F(ControlConformance, EveryCoreRunsOnce) {
  for (const int cores : {1, 2, 3, 8, 100}) {
    ProgramBuilder b;
    Ref out = b.Buffer(DType::kInt32, 1600);
    Ref core = b.Core(cores);
    Ref at = b.Add(b.Mul(core, 16), b.Vector(16));
    b.Store(out, at, b.Add(b.Load(out, at), b.Add(core, 1)));
    const codegen::Program program = b.Finish();
    for (int repeat = 0; repeat < 20; ++repeat) {
      KILN_ASSERT_OK_AND_ASSIGN(std::vector<Bytes> result, Run(program, {Zeros(1600)}));
      for (int k = 0; k < cores * 16; ++k) {
        ASSERT_EQ(IntsOf(result[0])[static_cast<size_t>(k)], k / 16 + 1) << cores;
      }
    }
  }
}

TEST_F(ControlConformance, WhatCannotBeCompiledIsNamed) {
  if (device().target().ops.Has(Op::kThreefry, DType::kUInt64)) GTEST_SKIP() << "it can";
  ProgramBuilder b("odd_kernel");
  Ref out = b.Buffer(DType::kUInt64, 1);
  b.Store(out, b.Int(0),
          b.graph().Binary(Op::kThreefry, b.Load(out, b.Int(0)), b.Int(1, DType::kUInt64)));
  EXPECT_THAT(device().Compile(b.Finish()), support::StatusIs(absl::StatusCode::kUnimplemented,
                                                              ::testing::HasSubstr("threefry")));
}

}  // namespace
}  // namespace kiln::conformance
