// Conditionals. Exact for every type.

#include "core/symbolic/rule_sets.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

bool AreConstant(Ref a, Ref b) { return a->IsConst() && b->IsConst(); }

// c ? a : b  op  c ? d : e  ->  c ? (a op d) : (b op e), where one of the branches is an operation
// on constants: one conditional less, and no operation more.
Ref MergeSameCondition(Graph& g, const Match& m) {
  Ref root = m.root();
  Ref a = root->src(0), b = root->src(1);
  if (a->src(0) != b->src(0)) return nullptr;
  if (!AreConstant(a->src(1), b->src(1)) && !AreConstant(a->src(2), b->src(2))) return nullptr;
  Ref yes = g.Make(root->op, root->dtype, {a->src(1), b->src(1)});
  Ref no = g.Make(root->op, root->dtype, {a->src(2), b->src(2)});
  return g.Make(Op::kWhere, root->dtype, {a->src(0), yes, no});
}

// An operation on a conditional between constants and a constant is a conditional between
// constants.
Ref IntoBranches(Graph& g, const Match& m) {
  Ref root = m.root();
  Ref select = root->src(0), c = root->src(1);
  if (!select->src(1)->IsConst() || !select->src(2)->IsConst()) return nullptr;
  Ref yes = g.Make(root->op, root->dtype, {select->src(1), c});
  Ref no = g.Make(root->op, root->dtype, {select->src(2), c});
  return g.Make(Op::kWhere, root->dtype, {select->src(0), yes, no});
}

// clang-format off
constexpr auto kSelect = rules(
    rule(where(p, where(p, x, y), z), where(p, x, z)),
    rule(where(p, x, where(p, y, z)), where(p, x, z)),
    rule(where(p, where(q, x, y), y), where(p & q, x, y)),
    rule(where(p, x, where(q, x, y)), where(p | q, x, y)),
    rule(where(p, where(q, y, x), y), where(p & (q != true), x, y))
        .grows("one conditional less; the negation usually folds"),
    rule(any_of<Op::kAdd, Op::kMul, Op::kMax, Op::kAnd, Op::kOr, Op::kXor, Op::kIDiv, Op::kMod,
                Op::kCmpLt, Op::kCmpNe>(where(p, x, y), where(q, z, w)), MergeSameCondition)
        .grows("one conditional less; a branch folds"),
    rule(any_of<Op::kAdd, Op::kMul, Op::kMax, Op::kAnd, Op::kOr, Op::kXor, Op::kIDiv, Op::kMod,
                Op::kCmpLt, Op::kCmpNe>(where(p, x, y), c0), IntoBranches)
        .grows("both branches fold"),
    rule(where(p, p, q), p | q),
    rule(where(p, q, p), p & q),
    rule(where(p, q, false), p & q),
    rule(where(p, true, q), p | q));
// clang-format on

}  // namespace

constexpr RuleTable kSelectRules = MakeTable<kSelect, Domain::kAny>("select");

}  // namespace kiln::symbolic
