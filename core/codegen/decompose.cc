#include "core/codegen/decompose.h"

#include <bit>

#include "core/codegen/decompositions.h"
#include "core/codegen/transcendental.h"
#include "core/dtype/status.h"
#include "core/rewrite/driver.h"

namespace kiln::codegen {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// Whether the target has `op` on the operands of the node that was matched.
bool Has(const Match& m, Op op) {
  return m.context<OpSupport>().Has(op, rewrite::OperandDType(m.root()));
}
bool IsNative(const Match& m) { return Has(m, m.root()->op); }
bool IsMachineInteger(Ref n) { return dtype::IsFixedWidthInteger(n->dtype); }
Int128 ValueOf(Ref c) { return c->arg.scalar().AsWide(c->dtype); }

// ** ops that the target lacks **

template <Ref (*Build)(Graph&, Ref)>
Ref UnlessNative(Graph& g, const Match& m) {
  return IsNative(m) ? nullptr : Build(g, m.root()->src(0));
}
template <Ref (*Build)(Graph&, Ref, Ref)>
Ref UnlessNative(Graph& g, const Match& m) {
  return IsNative(m) ? nullptr : Build(g, m.root()->src(0), m.root()->src(1));
}
template <Ref (*Build)(Graph&, Ref, Ref)>
Ref IntegerUnlessNative(Graph& g, const Match& m) {
  return IsMachineInteger(m.root()) ? UnlessNative<Build>(g, m) : nullptr;
}

Ref Negate(Graph& g, Ref a) { return g.Neg(a); }
Ref Subtract(Graph& g, Ref a, Ref b) { return g.Sub(a, b); }
Ref IsEqual(Graph& g, Ref a, Ref b) { return g.Not(g.Ne(a, b)); }

Ref MultiplyThenAdd(Graph& g, const Match& m) {
  return IsNative(m) ? nullptr : g.Add(g.Mul(m[x], m[y]), m[z]);
}
Ref ReciprocalByDivision(Graph& g, const Match& m) {
  if (IsNative(m) || !Has(m, Op::kFDiv)) return nullptr;
  return g.Binary(Op::kFDiv, g.Const(m[f]->dtype, Scalar::Float(1)), m[f]);
}
Ref DivisionByReciprocal(Graph& g, const Match& m) {
  if (IsNative(m) || !Has(m, Op::kRecip)) return nullptr;
  return g.Mul(m[f], g.Unary(Op::kRecip, m[h]));
}

constexpr auto kMissing = rules(
    rule(exp2(f), UnlessNative<Exp2>), rule(log2(f), UnlessNative<Log2>),
    rule(op<Op::kSin>(f), UnlessNative<Sin>), rule(sqrt(f), UnlessNative<Sqrt>),
    rule(pow(f, h), UnlessNative<Pow>), rule(pow(x, y), IntegerUnlessNative<internal::IntegerPow>),
    rule(trunc(f), UnlessNative<internal::Trunc>), rule(max(x, y), UnlessNative<internal::Max>),
    rule(x << y, IntegerUnlessNative<internal::ShiftLeft>),
    rule(x >> y, IntegerUnlessNative<internal::ShiftRight>),
    rule(op<Op::kThreefry>(x, y), UnlessNative<internal::Threefry>),
    rule(neg(x), UnlessNative<Negate>), rule(x - y, UnlessNative<Subtract>),
    rule(x == y, UnlessNative<IsEqual>), rule(op<Op::kMulAcc>(x, y, z), MultiplyThenAdd),
    rule(recip(f), ReciprocalByDivision), rule(op<Op::kFDiv>(f, h), DivisionByReciprocal));
constexpr RuleTable kMissingRules = MakeTable<kMissing, Domain::kAny>("missing ops");

// ** division by constants **

Ref DivideByShifting(Graph& g, const Match& m) {
  if (!IsMachineInteger(m.root()) || !Has(m, Op::kShr)) return nullptr;
  return internal::DivideByConstant(g, m[x], ValueOf(m[c0]));
}
Ref RemainderByShifting(Graph& g, const Match& m) {
  if (!IsMachineInteger(m.root()) || !Has(m, Op::kShr)) return nullptr;
  return internal::RemainderByConstant(g, m[x], ValueOf(m[c0]));
}

constexpr auto kDivision = rules(rule(x / c0, DivideByShifting), rule(x % c0, RemainderByShifting));
constexpr RuleTable kDivisionRules = MakeTable<kDivision, Domain::kInteger>("division");

// ** ops that the target has in one **

Ref MultiplyByShifting(Graph& g, const Match& m) {
  if (!IsMachineInteger(m.root()) || !Has(m, Op::kShl)) return nullptr;
  // The bits of the factor, as a number without sign.
  const uint64_t factor = dtype::ToBits(m[c0]->arg.scalar(), m[c0]->dtype);
  if (!std::has_single_bit(factor)) return nullptr;
  return g.Binary(Op::kShl, m[x], g.Int(m[x]->dtype, std::countr_zero(factor)));
}

// Builds `op` of the operands if the target has it.
template <Op O>
Ref UnaryIfNative(Graph& g, const Match& m) {
  return Has(m, O) ? g.Unary(O, m[x]) : nullptr;
}
template <Op O>
Ref BinaryIfNative(Graph& g, const Match& m) {
  return Has(m, O) ? g.Binary(O, m[x], m[y]) : nullptr;
}
Ref EqualIfNative(Graph& g, const Match& m) {
  const bool native = m.context<OpSupport>().Has(Op::kCmpEq, m[x]->dtype);
  return native ? g.Binary(Op::kCmpEq, m[x], m[y]) : nullptr;
}
Ref MultiplyAddIfNative(Graph& g, const Match& m) {
  return Has(m, Op::kMulAcc) ? g.Make(Op::kMulAcc, m[x]->dtype, {m[x], m[y], m[z]}) : nullptr;
}

constexpr auto kNative =
    rules(rule(x * -1, UnaryIfNative<Op::kNeg>), rule(x* c0, MultiplyByShifting),
          rule(x + y * -1, BinaryIfNative<Op::kSub>), rule(x + neg(y), BinaryIfNative<Op::kSub>),
          rule((x != y) != true, EqualIfNative), rule(x* y + z, MultiplyAddIfNative));
constexpr RuleTable kNativeRules = MakeTable<kNative, Domain::kAny>("native ops");

// Two roundings as one.
constexpr auto kNativeFast = rules(rule(x * recip(y), BinaryIfNative<Op::kFDiv>),
                                   rule(x* op<Op::kFDiv>(1, y), BinaryIfNative<Op::kFDiv>));
constexpr RuleTable kNativeFastRules = MakeTable<kNativeFast, Domain::kFastMath>("native division");

constexpr RuleSet kDecompositions = kMissingRules + kDivisionRules;
constexpr RuleSet kNativeForms = kNativeRules;
constexpr RuleSet kNativeFastForms = kNativeFastRules + kNativeRules;

}  // namespace

absl::StatusOr<Ref> Decompose(Graph& g, Ref root, const OpSupport& target, symbolic::Math math) {
  OpSupport support = target;
  const Context context(support);
  const bool fast = math == symbolic::Math::kFast;
  // Canonical forms before native ones, which simplification would undo.
  KILN_ASSIGN_OR_RETURN(
      root, Rewrite(g, root, {.name = "decompose", .rules = kDecompositions, .context = context}));
  KILN_ASSIGN_OR_RETURN(root, symbolic::Simplify(g, root, symbolic::Effort::kFold, math));
  return Rewrite(g, root,
                 {.name = "native forms",
                  .rules = fast ? kNativeFastForms : kNativeForms,
                  .context = context});
}

}  // namespace kiln::codegen
