// Operations on constants.

#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/symbolic/render.h"
#include "core/symbolic/rule_sets.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// The value of an operation whose sources are all constants. Null where there is none: an index
// value that leaves int64.
Ref FoldAlu(Graph& g, const Match& match) {
  Ref root = match.root();
  Scalar values[3];
  for (int s = 0; s < root->num_src; ++s) values[s] = root->src(s)->arg.scalar();
  std::optional<Scalar> value;
  if (root->op == Op::kCast) {
    value = dtype::Cast(values[0], root->src(0)->dtype, root->dtype);
  } else if (root->op == Op::kBitcast) {
    value = dtype::Bitcast(values[0], root->src(0)->dtype, root->dtype);
  } else {
    const DType operand = uop::IsComparison(root->op) ? root->src(0)->dtype : root->dtype;
    value =
        dtype::EvalAlu(uop::ToAlu(root->op), operand, absl::MakeConstSpan(values, root->num_src));
  }
  return value.has_value() ? g.Const(root->dtype, *value) : nullptr;
}

// Fixed-width integers have a value for this; an index has not.
Ref ReportDivisionByZero(Graph&, const Match& match) {
  return match.Fail(
      absl::InvalidArgumentError(absl::StrCat("division by zero in ", Render(match.root(), 200))));
}

constexpr auto kConstants =
    rules(rule(any_of<Op::kCast, Op::kBitcast, Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2,
                      Op::kLog2, Op::kSin, Op::kTrunc>(c0),
               FoldAlu),
          rule(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv, Op::kMod, Op::kMax,
                      Op::kPow, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd, Op::kOr, Op::kXor,
                      Op::kShl, Op::kShr, Op::kThreefry>(c0, c1),
               FoldAlu),
          rule(op<Op::kMulAcc>(c0, c1, c2), FoldAlu), rule(where(c0, x, x), x),
          rule(where(true, x, y), x), rule(where(false, x, y), y));

constexpr auto kIndexErrors =
    rules(rule(i / 0, ReportDivisionByZero), rule(i % 0, ReportDivisionByZero));

}  // namespace

constexpr RuleTable kConstantRules = MakeTable<kConstants, Domain::kAny>("constants");
constexpr RuleTable kIndexErrorRules = MakeTable<kIndexErrors, Domain::kIndex>("index errors");

}  // namespace kiln::symbolic
