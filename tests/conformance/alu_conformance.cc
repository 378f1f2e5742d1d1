// Each elementwise operation on each dtype, against core/dtype/alu.h.
#include <cmath>

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/uop/text.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/hard_operands.h"

namespace kiln::conformance {
namespace {

constexpr int kLanes = 16;

const std::vector<DType>& MachineTypes() {
  static const auto* const types = [] {
    auto* all = new std::vector<DType>();
    for (int i = 0; i < dtype::kNumDTypes; ++i) {
      if (dtype::SizeBits(static_cast<DType>(i)) != 0) all->push_back(static_cast<DType>(i));
    }
    return all;
  }();
  return *types;
}

// What every target has, listed or not: see OpSupport.
bool IsBase(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kCmpLt:
    case Op::kCmpNe:
    case Op::kWhere:
    case Op::kIDiv:
    case Op::kMod:
    case Op::kFDiv:
      return true;
    default:
      return false;
  }
}

// Operands in columns: for each row one of each.
struct Table {
  std::vector<DType> dtypes;
  std::vector<std::vector<Scalar>> columns;
  size_t rows() const { return columns[0].size(); }
};

// Every combination of hard operands, and some more rows up to a multiple of the lanes.
Table AllCombinations(std::vector<DType> dtypes, int num_random) {
  Table table = {std::move(dtypes), {}};
  std::vector<std::vector<Scalar>> choices;
  size_t rows = 1;
  for (const DType d : table.dtypes) {
    choices.push_back(HardOperands(d, num_random));
    rows *= choices.back().size();
  }
  const size_t padded = (rows + kLanes - 1) / kLanes * kLanes;
  for (size_t c = 0, step = 1; c < choices.size(); step *= choices[c++].size()) {
    std::vector<Scalar>& column = table.columns.emplace_back();
    for (size_t i = 0; i < padded; ++i) column.push_back(choices[c][i / step % choices[c].size()]);
  }
  return table;
}

class AluConformance : public ConformanceTest {
 protected:
  // One program with a vector, one without, and one with two lane axes: out[i] = op(columns[i]).
  std::vector<std::vector<Scalar>> Compute(const Table& table, DType result, Op op) {
    std::vector<std::vector<Scalar>> results;
    for (const int vector : {0, 16, 4}) {
      ProgramBuilder b("alu");
      const int64_t rows = static_cast<int64_t>(table.rows());
      Ref out = b.Buffer(result, rows);
      std::vector<Ref> params;
      for (const DType d : table.dtypes) params.push_back(b.Buffer(d, rows));
      Ref index;
      if (vector == 0) {
        index = b.Loop(rows);
      } else if (vector == 16) {
        Ref i = b.Loop(rows / 16);
        index = b.Add(b.Mul(i, 16), b.Vector(16));
      } else {
        Ref i = b.Loop(rows / 16);
        index = b.Add(b.Add(b.Mul(i, 16), b.Mul(b.Lane(4), 4)), b.Vector(4));
      }
      std::vector<Ref> operands;
      for (Ref param : params) operands.push_back(b.Load(param, index));
      b.Store(out, index, b.graph().Make(op, result, operands));
      std::vector<Bytes> buffers = {
          Bytes(table.rows() * static_cast<size_t>(dtype::SizeBytes(result)))};
      for (size_t c = 0; c < table.columns.size(); ++c) {
        buffers.push_back(ToBytes(table.dtypes[c], table.columns[c]));
      }
      auto outputs = Run(b.Finish(), buffers);
      if (!outputs.ok()) {
        ADD_FAILURE() << outputs.status();
        return {};
      }
      results.push_back(ValuesOf((*outputs)[0], result));
    }
    return results;
  }

  // `matches(row, value)`: whether the value is right; failures say what was expected.
  template <typename Expected, typename Matches>
  void Check(const std::string& what, const Table& table, DType result, Op op, Expected expected,
             Matches matches) {
    int failures = 0;
    for (const std::vector<Scalar>& values : Compute(table, result, op)) {
      for (size_t i = 0; i < values.size(); ++i) {
        std::vector<Scalar> row;
        for (const auto& column : table.columns) row.push_back(column[i]);
        const Scalar want = expected(row);
        if (values[i] == want || matches(row, values[i], want)) continue;
        if (++failures > 5) return;
        std::string operands;
        for (size_t c = 0; c < row.size(); ++c) operands += " " + Show(row[c], table.dtypes[c]);
        ADD_FAILURE() << what << " of" << operands << " is " << Show(values[i], result) << ", not "
                      << Show(want, result);
      }
    }
  }

  static std::string Show(Scalar v, DType d) {
    uop::Graph g;
    return uop::ToText(g.Const(d, v));
  }
};

bool NeverElse(const std::vector<Scalar>&, Scalar, Scalar) { return false; }

TEST_F(AluConformance, ElementwiseOperationsHaveTheirValues) {
  for (int i = 0; i < dtype::kNumAluOps; ++i) {
    const Op op = static_cast<Op>(i);
    const dtype::AluOp alu = uop::ToAlu(op);
    for (const DType d : MachineTypes()) {
      if (!dtype::IsDefined(alu, d)) continue;
      if (!IsBase(op) && !device().target().ops.Has(op, d)) continue;
      const int operands = dtype::NumOperands(alu);
      std::vector<DType> dtypes(static_cast<size_t>(operands), d);
      if (op == Op::kWhere) dtypes[0] = DType::kBool;
      const Table table = AllCombinations(dtypes, operands == 3 ? 0 : operands == 2 ? 12 : 400);
      const DType result = uop::IsComparison(op) ? DType::kBool : d;
      Check(
          std::string(uop::Name(op)) + " on " + std::string(dtype::Name(d)), table, result, op,
          [&](const std::vector<Scalar>& row) { return *dtype::EvalAlu(alu, d, row); },
          [&](const std::vector<Scalar>& row, Scalar value, Scalar want) {
            if (!dtype::IsFloat(d)) return false;
            // Either zero.
            if (op == Op::kMax) return value.AsFloat() == 0 && want.AsFloat() == 0;
            if (op != Op::kMulAcc) return false;
            // Rounded once or twice.
            const Scalar product = *dtype::EvalAlu(dtype::AluOp::kMul, d, {row[0], row[1]});
            return value == *dtype::EvalAlu(dtype::AluOp::kAdd, d, {product, row[2]});
          });
    }
  }
}

TEST_F(AluConformance, CastsRoundOnceSaturateAndWrap) {
  for (const DType from : MachineTypes()) {
    for (const DType to : MachineTypes()) {
      if (from == to) continue;
      Table table = AllCombinations({from}, 3000);
      Check(
          "cast from " + std::string(dtype::Name(from)) + " to " + std::string(dtype::Name(to)),
          table, to, Op::kCast,
          [&](const std::vector<Scalar>& row) { return *dtype::Cast(row[0], from, to); },
          NeverElse);
    }
  }
}

TEST_F(AluConformance, BitcastsKeepBits) {
  for (const DType from : MachineTypes()) {
    for (const DType to : MachineTypes()) {
      if (from == to || dtype::SizeBits(from) != dtype::SizeBits(to)) continue;
      Check(
          "bitcast from " + std::string(dtype::Name(from)) + " to " + std::string(dtype::Name(to)),
          AllCombinations({from}, 500), to, Op::kBitcast,
          [&](const std::vector<Scalar>& row) { return *dtype::Bitcast(row[0], from, to); },
          NeverElse);
    }
  }
}

// Halfway cases between neighbours, just above and just below: where rounding twice goes wrong.
TEST_F(AluConformance, CastsOfHalfwayCasesRoundToEven) {
  for (const DType from :
       {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kUInt64}) {
    for (const DType to :
         {DType::kFp8E4M3, DType::kFp8E5M2, DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
      if (from == to) continue;
      Table table = {{from}, {{}}};
      for (uint64_t bits = 0; bits < 4000; ++bits) {
        const int width = dtype::SizeBits(to);
        const uint64_t pattern = bits << (width - 1 > 12 ? width - 1 - 12 : 0);
        const double x = dtype::FromBits(pattern, to).AsFloat();
        const double y = dtype::FromBits(pattern + 1, to).AsFloat();
        const double middle = (x + y) / 2;
        for (const double v : {middle, std::nextafter(middle, x), std::nextafter(middle, y)}) {
          if (!std::isfinite(v)) continue;
          if (dtype::IsFloat(from)) {
            table.columns[0].push_back(Scalar::Float(dtype::RoundToFloat(v, from)));
          } else {  // Integers with a halfway case in their upper bits.
            const Scalar scaled = *dtype::Cast(Scalar::Float(v), DType::kFloat64, from);
            for (const int64_t off : {-1, 0, 1}) {
              table.columns[0].push_back(*dtype::WrapInteger(scaled.AsWide(from) + off, from));
            }
          }
        }
      }
      while (table.rows() % kLanes != 0) table.columns[0].push_back(table.columns[0].back());
      Check(
          "cast from " + std::string(dtype::Name(from)) + " to " + std::string(dtype::Name(to)),
          table, to, Op::kCast,
          [&](const std::vector<Scalar>& row) { return *dtype::Cast(row[0], from, to); },
          NeverElse);
    }
  }
}

}  // namespace
}  // namespace kiln::conformance
