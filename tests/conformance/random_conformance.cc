// Random programs: what a compiler makes of operations together, where one alone is right.
#include <algorithm>
#include <array>

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/uop/text.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/hard_operands.h"
#include "tests/support/random.h"

namespace kiln::conformance {
namespace {

using support::Random;

constexpr int kRows = 32;  // Two turns of a vector of 16.

using Column = std::vector<Scalar>;

// A program and, beside each node, its value in every row.
class RandomProgram {
 public:
  RandomProgram(uint64_t seed, const codegen::OpSupport& ops) : random_(seed), ops_(ops) {
    for (int i = 0; i < dtype::kNumDTypes; ++i) {
      const DType d = static_cast<DType>(i);
      if (dtype::SizeBits(d) != 0 && random_.Chance(1, 3)) dtypes_.push_back(d);
    }
    dtypes_.push_back(random_.Chance(1, 2) ? DType::kInt32 : DType::kFloat32);
  }

  codegen::Program Make() {
    const bool vector = random_.Chance(4, 5);
    std::vector<Ref> params;
    for (const DType d : dtypes_) params.push_back(b_.Buffer(d, kRows));
    for (const DType d : dtypes_) outputs_.push_back({b_.Buffer(d, kRows), {}});
    sums_ = {b_.Buffer(DType::kInt32, 2), {}};
    Ref turn = b_.Loop(vector ? 2 : kRows), lane = vector ? b_.Vector(16) : nullptr;
    Ref index = vector ? b_.Add(b_.Mul(turn, 16), lane) : turn;
    for (Ref param : params) {
      const std::vector<Scalar> hard = HardOperands(param->dtype, 40);
      Column column;
      for (int i = 0; i < kRows; ++i) column.push_back(random_.Pick(absl::MakeConstSpan(hard)));
      inputs_.push_back(column);
      nodes_.push_back({b_.Load(param, index), column, false});
    }
    for (int i = 0; i < 40; ++i) AddNode();
    for (Output& output : outputs_) {
      const Node node = LastOf(output.param->dtype);
      b_.Store(output.param, index, node.ref);
      output.values = node.values;
    }
    if (vector) AddSum(turn, lane);
    return b_.Finish();
  }

  std::vector<Bytes> Contents() const {
    std::vector<Bytes> buffers;
    for (size_t i = 0; i < dtypes_.size(); ++i) buffers.push_back(ToBytes(dtypes_[i], inputs_[i]));
    for (const Bytes& input : std::vector<Bytes>(buffers)) buffers.push_back(Bytes(input.size()));
    buffers.push_back(Bytes(8));
    return buffers;
  }

  void Check(const std::vector<Bytes>& results, const std::string& text) const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const DType d = dtypes_[i];
      EXPECT_EQ(ValuesOf(results[dtypes_.size() + i], d), outputs_[i].values)
          << dtype::Name(d) << "\n"
          << text;
    }
    if (!sums_.values.empty()) {
      EXPECT_EQ(ValuesOf(results.back(), DType::kInt32), sums_.values) << text;
    }
  }

 private:
  struct Node {
    Ref ref;
    Column values;
    // Made of a product, which a sum may round together with itself.
    bool is_product;
  };
  struct Output {
    Ref param = nullptr;
    Column values;
  };

  const Node& PickOf(DType d) {
    std::vector<const Node*> fitting;
    for (const Node& node : nodes_) {
      if (node.ref->dtype == d) fitting.push_back(&node);
    }
    return *random_.Pick(absl::MakeConstSpan(fitting));
  }
  const Node& LastOf(DType d) const {
    return *std::find_if(nodes_.rbegin(), nodes_.rend(),
                         [d](const Node& node) { return node.ref->dtype == d; });
  }

  void Add(Op op, DType result, const std::vector<const Node*>& operands) {
    Node node = {nullptr, {}, op == Op::kMul};
    std::vector<Ref> src;
    for (const Node* operand : operands) {
      src.push_back(operand->ref);
      node.is_product = node.is_product || operand->is_product;
    }
    const DType d = operands.back()->ref->dtype;
    for (size_t i = 0; i < kRows; ++i) {
      std::vector<Scalar> row;
      for (const Node* operand : operands) row.push_back(operand->values[i]);
      node.values.push_back(op == Op::kCast      ? *dtype::Cast(row[0], d, result)
                            : op == Op::kBitcast ? *dtype::Bitcast(row[0], d, result)
                                                 : *dtype::EvalAlu(uop::ToAlu(op), d, row));
    }
    node.ref = b_.graph().Make(op, result, src);
    nodes_.push_back(std::move(node));
  }

  // A constant and its node, now and then, so that constants fold into what uses them.
  void AddConstant(DType d) {
    const std::vector<Scalar> hard = HardOperands(d, 10);
    const Scalar v = random_.Pick(absl::MakeConstSpan(hard));
    nodes_.push_back({b_.graph().Const(d, v), Column(kRows, v), false});
  }

  void AddNode() {
    const DType d = random_.Pick(absl::MakeConstSpan(dtypes_));
    const Op op = static_cast<Op>(random_.Uniform(0, dtype::kNumAluOps - 1));
    if (random_.Chance(1, 8)) return AddConstant(d);
    if (op == Op::kCast || op == Op::kBitcast) {
      const DType to = random_.Pick(absl::MakeConstSpan(dtypes_));
      const bool same_size = dtype::SizeBits(d) == dtype::SizeBits(to);
      if (to != d && (op == Op::kCast || same_size)) Add(op, to, {&PickOf(d)});
      return;
    }
    if (op == Op::kWhere) {
      const DType over = random_.Pick(absl::MakeConstSpan(dtypes_));
      Add(Op::kCmpLt, DType::kBool, {&PickOf(over), &PickOf(over)});
      const Node condition = nodes_.back();
      return Add(op, d, {&condition, &PickOf(d), &PickOf(d)});
    }
    // What rounds in one of two ways, or gives either zero, has a test of its own.
    if (op == Op::kMulAcc || (op == Op::kMax && dtype::IsFloat(d))) return;
    const bool is_base = op == Op::kAdd || op == Op::kMul || op == Op::kAnd || op == Op::kOr ||
                         op == Op::kXor || op == Op::kIDiv || op == Op::kMod || op == Op::kCmpNe;
    if (!dtype::IsDefined(uop::ToAlu(op), d) || (!is_base && !ops_.Has(op, d))) return;
    if (dtype::NumOperands(uop::ToAlu(op)) == 1) return Add(op, d, {&PickOf(d)});
    const Node x = PickOf(d), y = PickOf(d);
    const bool adds = dtype::IsFloat(d) && (op == Op::kAdd || op == Op::kSub);
    if (adds && (x.is_product || y.is_product)) return;
    Add(op, uop::IsComparison(op) ? DType::kBool : d, {&x, &y});
  }

  // A sum of products over lanes.
  void AddSum(Ref turn, Ref lane) {
    const Node x = PickOf(random_.Pick(absl::MakeConstSpan(dtypes_))),
               y = PickOf(random_.Pick(absl::MakeConstSpan(dtypes_)));
    Add(Op::kCast, DType::kInt32, {&x});
    const Node left = x.ref->dtype == DType::kInt32 ? x : nodes_.back();
    Add(Op::kCast, DType::kInt32, {&y});
    const Node right = y.ref->dtype == DType::kInt32 ? y : nodes_.back();
    b_.Store(sums_.param, turn, b_.Reduce(Op::kAdd, b_.graph().Mul(left.ref, right.ref), {lane}));
    for (size_t t = 0; t < 2; ++t) {
      uint32_t sum = 0;
      for (size_t i = 16 * t; i < 16 * t + 16; ++i) {
        sum += static_cast<uint32_t>(left.values[i].AsInt()) *
               static_cast<uint32_t>(right.values[i].AsInt());
      }
      sums_.values.push_back(Scalar::Int(static_cast<int32_t>(sum)));
    }
  }

  Random random_;
  const codegen::OpSupport& ops_;
  ProgramBuilder b_{"random"};
  std::vector<DType> dtypes_;
  std::vector<Column> inputs_;
  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  Output sums_;
};

using RandomConformance = ConformanceTest;

TEST_F(RandomConformance, ProgramsHaveTheirValues) {
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    RandomProgram random(seed, device().target().ops);
    const codegen::Program program = random.Make();
    KILN_ASSERT_OK_AND_ASSIGN(const std::vector<Bytes> results, Run(program, random.Contents()));
    random.Check(results, uop::ToText(program.linear, uop::Layout::kLines) + "\nseed " +
                              std::to_string(seed));
  }
}

}  // namespace
}  // namespace kiln::conformance
