// What bounds decide.

#include "core/symbolic/rule_sets.h"
#include "core/uop/facts.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// Bounds are those of exact arithmetic. They speak of the value only where nothing below has wrapped.
Ref ConstantByBounds(Graph& g, const Match& m) {
  Ref root = m.root();
  const Bounds& b = BoundsOf(g, root);
  if (!b.IsPoint() || !FitsInt64(b.lo) || !BoundsHold(g, root)) return nullptr;
  return g.Int(root->dtype, static_cast<int64_t>(b.lo));
}

Ref LargerFloat(Graph& g, const Match& m) {
  const uop::FloatBounds a = uop::FloatBoundsOf(g, m[f]), b = uop::FloatBoundsOf(g, m[h]);
  return a.lo > b.hi ? m[f] : nullptr;
}

constexpr auto kBounds =
    rules(rule(any_of<Op::kAdd, Op::kMul, Op::kIDiv, Op::kMod, Op::kMax, Op::kAnd, Op::kCmpLt,
                      Op::kCmpNe, Op::kOr, Op::kShl, Op::kShr>(m, n),
               ConstantByBounds),
          rule(op<Op::kVariable>(), ConstantByBounds), rule(op<Op::kRange>(m), ConstantByBounds),
          rule(op<Op::kSpecial>(m), ConstantByBounds), rule(max(m, n), m).when(vmin(m) >= vmax(n)),
          rule(max(f, h), LargerFloat));

}  // namespace

constexpr RuleTable kBoundsRules = MakeTable<kBounds, Domain::kAny>("bounds");

}  // namespace kiln::symbolic
