// Arithmetic on integers: what is computed on sums of terms rather than matched.

#include "core/symbolic/comparison.h"
#include "core/symbolic/divmod.h"
#include "core/symbolic/order.h"
#include "core/symbolic/rule_sets.h"
#include "core/symbolic/sum.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

Ref NormalForm(Graph& g, const Match& m) { return Normalize(g, m.root()); }
Ref Quotient(Graph& g, const Match& m) { return FoldDivMod(g, m.root()); }
Ref Comparison(Graph& g, const Match& m) { return FoldComparison(g, m.root()); }

// Operands that commute stand in structural order.
Ref InOrder(Graph& g, const Match& m) {
  return Compare(m[x], m[y]) > 0 && !m[x]->IsConst() ? g.WithSources(m.root(), {m[y], m[x]})
                                                     : nullptr;
}

// clang-format off
constexpr auto kIntegers = rules(
    rule(any_of<Op::kAdd, Op::kMul, Op::kMax>(x, y), NormalForm),
    rule(any_of<Op::kIDiv, Op::kMod>(x, y), Quotient).grows("signs move out of quotients"),
    rule(any_of<Op::kCmpLt, Op::kCmpNe>(x, y), Comparison).grows("terms of both sides are one sum"));

constexpr auto kOrder = rules(
    rule(any_of<Op::kAnd, Op::kOr>(p, q), NormalForm),
    rule(x ^ y, InOrder));
// clang-format on

}  // namespace

constexpr RuleTable kIntegerRules = MakeTable<kIntegers, Domain::kInteger>("integers");
constexpr RuleTable kOrderRules = MakeTable<kOrder, Domain::kAny>("order");

}  // namespace kiln::symbolic
