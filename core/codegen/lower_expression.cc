#include "core/codegen/lower_expression.h"

#include "core/codegen/decompose.h"
#include "core/codegen/element_index.h"
#include "core/codegen/if_blocks.h"
#include "core/dtype/status.h"
#include "core/rewrite/driver.h"
#include "core/symbolic/lower_index.h"
#include "core/symbolic/stacks.h"
#include "core/uop/walk.h"

namespace kiln::codegen {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

Ref IntoBlock(Graph& g, const Match& m) { return internal::StoreInBlock(g, m.root()); }
Ref DropGateOfBlock(Graph& g, const Match& m) { return internal::WithoutGateOfBlock(g, m.root()); }

constexpr auto kGates = rules(rule(op<Op::kIndex>(x, y, true), op<Op::kIndex>(x, y)));
constexpr RuleTable kGateRules = MakeTable<kGates, Domain::kAny>("gates");

constexpr auto kBlocks = rules(rule(op<Op::kStore>(op<Op::kIndex>(x, y, p), rest), DropGateOfBlock),
                               rule(op<Op::kStore>(op<Op::kIndex>(x, y, p), rest), IntoBlock));
constexpr RuleTable kBlockRules = MakeTable<kBlocks, Domain::kAny>("if blocks");

Ref NarrowElement(Graph& g, const Match& m) {
  absl::StatusOr<Ref> place = internal::WithElementOfIndexDType(g, m.root());
  return place.ok() ? *place : m.Fail(place.status());
}

constexpr auto kElementIndices =
    rules(rule(op<Op::kIndex>(x, y), NarrowElement), rule(op<Op::kIndex>(x, y, p), NarrowElement));
constexpr RuleTable kElementIndexRules =
    MakeTable<kElementIndices, Domain::kAny>("element indices");

// No target has operations on whole stacks yet.
Ref OneElementAtATime(Graph& g, const Match& m) { return symbolic::PerElement(g, m.root()); }

constexpr auto kElementwise =
    rules(rule(any_of<Op::kCast, Op::kBitcast, Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2,
                      Op::kLog2, Op::kSin, Op::kTrunc>(op<Op::kStack>(rest)),
               OneElementAtATime)
              .grows("an operation for each element"),
          rule(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv, Op::kMod, Op::kMax,
                      Op::kPow, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd, Op::kOr, Op::kXor,
                      Op::kShl, Op::kShr, Op::kThreefry>(x, y),
               OneElementAtATime)
              .grows("an operation for each element"),
          rule(any_of<Op::kWhere, Op::kMulAcc>(x, y, z), OneElementAtATime)
              .grows("an operation for each element"));
constexpr RuleTable kElementwiseRules = MakeTable<kElementwise, Domain::kAny>("elementwise");

// Whether there is a barrier or block, below which stores may be: few kernels have one, and to look
// for it from every gated store is not linear.
bool HasBlocks(Ref root) {
  return !uop::Visit(root, [](Ref n) { return !n->Is(Op::kBarrier) && !n->Is(Op::kIf); });
}

}  // namespace

absl::StatusOr<Ref> LowerExpression(Graph& g, Ref root, const OpSupport& target,
                                    symbolic::Math math) {
  KILN_ASSIGN_OR_RETURN(root, symbolic::Simplify(g, root, symbolic::Effort::kFull, math));
  KILN_ASSIGN_OR_RETURN(
      root, Rewrite(g, root, {.name = "one element at a time", .rules = kElementwiseRules}));
  KILN_ASSIGN_OR_RETURN(root, Rewrite(g, root, {.name = "drop gates", .rules = kGateRules}));
  if (HasBlocks(root)) {
    KILN_ASSIGN_OR_RETURN(root, Rewrite(g, root, {.name = "if blocks", .rules = kBlockRules}));
  }
  return internal::LowerArithmetic(g, root, target, math);
}

absl::StatusOr<Ref> internal::LowerArithmetic(Graph& g, Ref root, const OpSupport& target,
                                              symbolic::Math math) {
  KILN_ASSIGN_OR_RETURN(
      root, Rewrite(g, root, {.name = "narrow element indices", .rules = kElementIndexRules}));
  KILN_ASSIGN_OR_RETURN(root, symbolic::LowerIndex(g, root));
  return Decompose(g, root, target, math);
}

}  // namespace kiln::codegen
