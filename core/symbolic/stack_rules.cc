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

// Element i of x op y is (element i of x) op (element i of y).
Ref ElementOfAlu(Graph& g, const Match& m) {
  Ref alu = m.root()->src(0);
  Ref elements[3];
  for (int s = 0; s < alu->num_src; ++s) {
    elements[s] = g.Make(Op::kUnstack, alu->src(s)->dtype, {alu->src(s)}, m.root()->arg);
  }
  return g.WithSources(alu, absl::MakeConstSpan(elements, alu->num_src));
}

// Constants fold element by element.
Ref FoldStacks(Graph& g, const Match& m) {
  for (Ref stack : m.root()->src()) {
    for (Ref element : stack->src()) {
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
                                 Op::kMax, Op::kCmpLt, Op::kCmpNe, Op::kCmpEq, Op::kAnd, Op::kOr,
                                 Op::kXor, Op::kShl, Op::kShr>(x, y)),
         ElementOfAlu)
        .grows("moves the element towards the stack it is in"),
    rule(any_of<Op::kCast, Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2, Op::kLog2, Op::kSin,
                Op::kTrunc>(op<Op::kStack>(rest)),
         FoldStacks)
        .grows("every element folds"),
    rule(any_of<Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kIDiv, Op::kMod, Op::kMax, Op::kCmpLt,
                Op::kCmpNe, Op::kCmpEq, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShr>(
             op<Op::kStack>(rest), op<Op::kStack>(rest)),
         FoldStacks)
        .grows("every element folds"),
    rule(op<Op::kStack>(every(op<Op::kUnstack>(x))), WholeAgain));

}  // namespace

Ref PerElement(Graph& g, Ref n) {
  const uint16_t count = n->src(0)->num_src;
  for (Ref stack : n->src()) {
    if (stack->op != Op::kStack || stack->num_src != count) return nullptr;
  }
  std::vector<Ref> elements;
  for (int i = 0; i < count; ++i) {
    Ref operands[3];
    for (int s = 0; s < n->num_src; ++s) operands[s] = n->src(s)->src(i);
    elements.push_back(g.WithSources(n, absl::MakeConstSpan(operands, n->num_src)));
  }
  return g.Make(Op::kStack, n->dtype, elements);
}

constexpr RuleTable kStackRules = MakeTable<kStack, Domain::kAny>("stacks");

}  // namespace kiln::symbolic
