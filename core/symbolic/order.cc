#include "core/symbolic/order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <limits>

#include "core/dtype/scalar.h"

namespace kiln::symbolic {
namespace {

// From what comes first to what comes last. Ops of tensor graphs and of control flow never meet as
// operands; they are here so that the order is total.
constexpr Op kByRank[] = {
    // Memory and variables, by number or name.
    Op::kParam, Op::kInput, Op::kBuffer, Op::kVariable, Op::kBind, Op::kSpecial,
    // Elements of values with a shape, and such values.
    Op::kUnstack, Op::kStack,
    // Elementwise ops of one operand; memory; the rest of arithmetic, sums first.
    Op::kCast, Op::kBitcast, Op::kExp2, Op::kLog2, Op::kSin, Op::kSqrt, Op::kRecip, Op::kNeg,
    Op::kTrunc, Op::kLoad, Op::kStore, Op::kIndex, Op::kAdd, Op::kMul, Op::kShl, Op::kShr,
    Op::kIDiv, Op::kMax, Op::kMod, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kXor, Op::kOr, Op::kAnd,
    Op::kThreefry, Op::kSub, Op::kFDiv, Op::kPow, Op::kWhere, Op::kMulAcc,
    // Tensors.
    Op::kReshape, Op::kExpand, Op::kPermute, Op::kFlip, Op::kPad, Op::kShrink, Op::kReduce,
    Op::kIota, Op::kContiguous, Op::kDetach, Op::kAssign, Op::kCopy, Op::kShard, Op::kUnshard,
    Op::kAllReduce, Op::kCall, Op::kGradient,
    // Control flow.
    Op::kAfter, Op::kBarrier, Op::kRange, Op::kIf, Op::kEndIf, Op::kEnd, Op::kSink, Op::kKernel,
    Op::kLinear,
    // Constants last.
    Op::kConst};
static_assert(std::size(kByRank) == uop::kNumOps);

constexpr int kConstVectorRank = uop::kNumOps - 1;
constexpr int kConstRank = uop::kNumOps;

constexpr auto kRanks = [] {
  std::array<uint8_t, uop::kNumOps> ranks{};
  for (int i = 0; i < uop::kNumOps; ++i)
    ranks[static_cast<int>(kByRank[i])] = static_cast<uint8_t>(i);
  ranks[static_cast<int>(Op::kConst)] = kConstRank;
  return ranks;
}();
static_assert(
    [] {
      auto ranks = kRanks;
      std::sort(ranks.begin(), ranks.end());
      return std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end();
    }(),
    "an op is missing in kByRank or twice in it");

int Rank(Ref n) {
  // A vector of constants is as good as a constant. No other op shares the filter bit of kConst.
  static_assert(static_cast<int>(Op::kConst) + 64 >= uop::kNumOps);
  if (n->op == Op::kStack && n->src_filter == uop::FilterBit(Op::kConst)) return kConstVectorRank;
  return kRanks[static_cast<int>(n->op)];
}

int Sign(std::strong_ordering o) { return o < 0 ? -1 : o > 0 ? 1 : 0; }

// By value, whatever the dtypes; NaN after everything. Zero for values that are equal but differ in
// dtype or in the sign of zero.
int CompareScalars(Scalar a, DType da, Scalar b, DType db) {
  if (!dtype::IsFloat(da) && !dtype::IsFloat(db)) return Sign(a.AsWide(da) <=> b.AsWide(db));
  // 64 bits of significand hold every double and every 64-bit integer.
  static_assert(std::numeric_limits<long double>::digits >= 64);
  auto wide = [](Scalar v, DType d) {
    return dtype::IsFloat(d) ? static_cast<long double>(v.AsFloat())
                             : static_cast<long double>(v.AsWide(d));
  };
  const long double x = wide(a, da), y = wide(b, db);
  if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(x)) - std::isnan(y);
  return x < y ? -1 : y < x ? 1 : 0;
}

template <typename T>
int CompareLists(absl::Span<const T> a, absl::Span<const T> b) {
  return Sign(std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end()));
}

int ComparePayloads(const uop::Payload& a, const uop::Payload& b, bool numbers_first) {
  const int by_text = Sign(a.text.compare(b.text) <=> 0);
  const int by_ints = CompareLists(a.ints, b.ints);
  if (numbers_first) return by_ints != 0 ? by_ints : by_text;
  return by_text != 0 ? by_text : by_ints;
}

int CompareVariables(Ref a, Ref b) {
  const uop::VariableInfo x = uop::VariableOf(a), y = uop::VariableOf(b);
  if (int c = x.name.compare(y.name); c != 0) return c < 0 ? -1 : 1;
  if (int c = CompareScalars(x.min, a->dtype, y.min, b->dtype); c != 0) return c;
  if (int c = CompareScalars(x.max, a->dtype, y.max, b->dtype); c != 0) return c;
  return CompareLists(a->arg.payload().ints, b->arg.payload().ints);  // Bounds -0.0 and 0.0.
}

// Pre: the ranks are equal, and so the ops.
int CompareArgs(Ref a, Ref b) {
  if (a->arg == b->arg && a->dtype == b->dtype) return 0;
  switch (uop::Info(a->op).arg) {
    case uop::ArgKind::kNone:
      return 0;
    case uop::ArgKind::kScalar:
      return CompareScalars(a->arg.scalar(), a->dtype, b->arg.scalar(), b->dtype);
    case uop::ArgKind::kInt:
      return Sign(a->arg.integer() <=> b->arg.integer());
    case uop::ArgKind::kRange: {
      const RangeArg x = a->arg.range(), y = b->arg.range();
      if (x.axis_id != y.axis_id) return Sign(x.axis_id <=> y.axis_id);
      return Sign(x.type <=> y.type);
    }
    case uop::ArgKind::kReduce: {
      const ReduceArg x = a->arg.reduce(), y = b->arg.reduce();
      return x.op != y.op ? Sign(x.op <=> y.op) : Sign(x.axes <=> y.axes);
    }
    case uop::ArgKind::kPayload:
      if (a->op == Op::kVariable) return CompareVariables(a, b);
      return ComparePayloads(a->arg.payload(), b->arg.payload(), a->op == Op::kParam);
  }
  return 0;
}

// The index type is narrower than all that have values, whatever its place in the enumeration.
int DTypeRank(DType d) {
  if (d == DType::kVoid) return 0;
  return d == DType::kIndex ? 1 : static_cast<int>(d) + 1;
}

// What the nodes have of their own. Zero if they differ in their sources only.
int CompareShallow(Ref a, Ref b) {
  if (int c = Rank(a) - Rank(b); c != 0) return c;
  if (int c = CompareArgs(a, b); c != 0) return c;
  if (int c = DTypeRank(a->dtype) - DTypeRank(b->dtype); c != 0) return c;
  // Arguments that are equal as numbers or as lists may still differ: -0.0 and 0.0.
  if (uop::Info(a->op).arg == uop::ArgKind::kScalar && a->arg != b->arg) {
    return a->arg.bits() > b->arg.bits() ? -1 : 1;
  }
  return a->tag - b->tag;
}

}  // namespace

int Compare(Ref a, Ref b) {
  // Different nodes differ somewhere, and the first pair of sources that are not one node decides.
  while (a != b) {
    if (int c = CompareShallow(a, b); c != 0) return c;
    const auto x = a->src(), y = b->src();
    const auto [at_x, at_y] = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
    if (at_x == x.end() || at_y == y.end()) return Sign(x.size() <=> y.size());
    a = *at_x;
    b = *at_y;
  }
  return 0;
}

}  // namespace kiln::symbolic
