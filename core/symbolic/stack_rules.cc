// Values with a shape: stacks of smaller values and their elements.

#include <vector>

#include "core/symbolic/rule_sets.h"
#include "core/symbolic/stacks.h"
#include "core/uop/facts.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

Ref PickElement(Graph&, const Match& m) {
  Ref stack = m.root()->src(0);
  const int64_t i = m.root()->arg.integer();
  return i >= 0 && i < stack->num_src ? stack->src(static_cast<int>(i)) : nullptr;
}

bool IsScalar(Graph& g, Ref n) {
  const auto shape = uop::ShapeOf(g, n);
  return shape.ok() && shape->empty();
}

// Element i of x op y is (element i of x) op (element i of y); a scalar goes with every element.
Ref ElementOfAlu(Graph& g, const Match& m) {
  Ref alu = m.root()->src(0);
  Ref elements[3];
  for (int s = 0; s < alu->num_src; ++s) {
    Ref n = alu->src(s);
    elements[s] = IsScalar(g, n) ? n : g.Make(Op::kUnstack, n->dtype, {n}, m.root()->arg);
  }
  return g.WithSources(alu, absl::MakeConstSpan(elements, alu->num_src));
}

// Constants fold element by element.
Ref FoldStacks(Graph& g, const Match& m) {
  for (Ref n : m.root()->src()) {
    if (n->IsConst()) continue;
    if (n->op != Op::kStack) return nullptr;
    for (Ref element : n->src()) {
      if (!element->IsConst()) return nullptr;
    }
  }
  return PerElement(g, m.root());
}

// All elements of one value, in order, are that value.
Ref WholeAgain(Graph& g, const Match& m) {
  Ref root = m.root();
  Ref whole = root->src(0)->src(0);
  for (int i = 0; i < root->num_src; ++i) {
    Ref s = root->src(i);
    if (s->src(0) != whole || s->arg.integer() != i) return nullptr;
  }
  const auto shape = uop::ShapeOf(g, whole);
  return shape.ok() && !shape->empty() && IsIntConst((*shape)[0], root->num_src) ? whole : nullptr;
}

constexpr auto kStack = rules(
    rule(op<Op::kUnstack>(op<Op::kStack>(rest)), PickElement),
    rule(op<Op::kUnstack>(any_of<Op::kCast, Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2, Op::kLog2,
                                 Op::kSin, Op::kTrunc>(x)),
         ElementOfAlu)
        .grows("moves the element towards the stack it is in"),
    rule(op<Op::kUnstack>(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv, Op::kMod,
                                 Op::kMax, Op::kPow, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd,
                                 Op::kOr, Op::kXor, Op::kShl, Op::kShr, Op::kThreefry>(x, y)),
         ElementOfAlu)
        .grows("moves the element towards the stack it is in"),
    rule(op<Op::kUnstack>(any_of<Op::kWhere, Op::kMulAcc>(x, y, z)), ElementOfAlu)
        .grows("moves the element towards the stack it is in"),
    rule(any_of<Op::kCast, Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2, Op::kLog2, Op::kSin,
                Op::kTrunc>(op<Op::kStack>(rest)),
         FoldStacks)
        .grows("every element folds"),
    rule(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv, Op::kMod, Op::kMax, Op::kPow,
                Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShr,
                Op::kThreefry>(op<Op::kStack>(rest), op<Op::kStack>(rest)),
         FoldStacks)
        .grows("every element folds"),
    rule(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv, Op::kMod, Op::kMax, Op::kPow,
                Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShr,
                Op::kThreefry>(op<Op::kStack>(rest), c0),
         FoldStacks)
        .grows("every element folds"),
    rule(any_of<Op::kSub, Op::kFDiv, Op::kIDiv, Op::kMod, Op::kPow, Op::kCmpLt, Op::kShl, Op::kShr,
                Op::kThreefry>(c0, op<Op::kStack>(rest)),
         FoldStacks)
        .grows("every element folds"),
    rule(any_of<Op::kWhere, Op::kMulAcc>(op<Op::kStack>(rest), x, y), FoldStacks)
        .grows("every element folds"),
    rule(op<Op::kMulAcc>(c0, x, y), FoldStacks).grows("every element folds"),
    rule(op<Op::kStack>(every(op<Op::kUnstack>(x))), WholeAgain));

}  // namespace

Ref PerElement(Graph& g, Ref n) {
  Ref first = nullptr;
  for (Ref s : n->src()) {
    if (s->op == Op::kStack && first == nullptr) first = s;
    if (s->op == Op::kStack ? s->num_src != first->num_src : !IsScalar(g, s)) return nullptr;
  }
  if (first == nullptr) return nullptr;
  std::vector<Ref> elements;
  for (int i = 0; i < first->num_src; ++i) {
    Ref operands[3];
    for (int s = 0; s < n->num_src; ++s) {
      operands[s] = n->src(s)->op == Op::kStack ? n->src(s)->src(i) : n->src(s);
    }
    elements.push_back(g.WithSources(n, absl::MakeConstSpan(operands, n->num_src)));
  }
  return g.Make(Op::kStack, n->dtype, elements);
}

constexpr RuleTable kStackRules = MakeTable<kStack, Domain::kAny>("stacks");

}  // namespace kiln::symbolic
