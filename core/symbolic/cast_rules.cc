// Casts.

#include "core/dtype/promote.h"
#include "core/symbolic/exact.h"
#include "core/symbolic/rule_sets.h"
#include "core/uop/facts.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

bool FitsIn(Graph& g, Ref n, DType d) {
  if (d == DType::kIndex) return true;
  if (!dtype::IsInteger(d) && d != DType::kBool) return false;
  const Bounds b = SafeBoundsOf(g, n);
  return b.lo >= dtype::MinValue(d) && b.hi <= dtype::MaxValue(d);
}
bool IsIntegral(DType d) { return dtype::IsInteger(d) || d == DType::kBool; }

Ref DropSameCast(Graph&, const Match& m) { return m[x]->dtype == m.root()->dtype ? m[x] : nullptr; }

// A cast of a cast that changed no value is one cast.
Ref SkipLosslessCast(Graph& g, const Match& m) {
  Ref inner = m.root()->src(0);
  Ref source = inner->src(0);
  const bool lossless =
      dtype::IsLosslessCast(source->dtype, inner->dtype) ||
      (IsIntegral(source->dtype) && IsIntegral(inner->dtype) && FitsIn(g, source, inner->dtype));
  // Index to machine integers is the lowering's to decide.
  if (!lossless || source->dtype == DType::kVoid) return nullptr;
  // A float saturates to an integer, an integer wraps.
  const DType d = m.root()->dtype;
  if (dtype::IsFloat(inner->dtype) && dtype::IsInteger(source->dtype) && dtype::IsInteger(d) &&
      !FitsIn(g, source, d)) {
    return nullptr;
  }
  return g.Cast(source, m.root()->dtype);
}

// Integer to narrower integer, through a wider one or of the same width: only the low bits count.
Ref SkipWideningCast(Graph& g, const Match& m) {
  Ref inner = m.root()->src(0);
  Ref source = inner->src(0);
  if (!dtype::IsFixedWidthInteger(source->dtype) || !dtype::IsFixedWidthInteger(inner->dtype) ||
      !dtype::IsFixedWidthInteger(m.root()->dtype)) {
    return nullptr;
  }
  if (dtype::SizeBits(inner->dtype) < dtype::SizeBits(m.root()->dtype)) return nullptr;
  return g.Cast(source, m.root()->dtype);
}

// A conditional between constants moves a cast into its branches, where it folds.
Ref IntoConstantBranches(Graph& g, const Match& m) {
  Ref select = m.root()->src(0);
  if (!select->src(1)->IsConst() || !select->src(2)->IsConst()) return nullptr;
  const DType d = m.root()->dtype;
  return g.Where(select->src(0), g.Cast(select->src(1), d), g.Cast(select->src(2), d));
}

// Through an integer all bits come back; through bool only truth, and through a float NaN without its payload.
Ref SkipBitcast(Graph& g, const Match& m) {
  if (!dtype::IsFixedWidthInteger(m.root()->src(0)->dtype)) return nullptr;
  return g.Make(Op::kBitcast, m.root()->dtype, {m[x]});
}

// clang-format off
constexpr auto kCasts = rules(
    rule(cast(x), DropSameCast),
    rule(bitcast(x), DropSameCast),
    rule(bitcast(bitcast(x)), SkipBitcast),
    rule(cast(cast(x)), SkipLosslessCast),
    rule(cast(cast(x)), SkipWideningCast),
    rule(cast(where(p, x, y)), IntoConstantBranches).grows("both branches fold"));
// clang-format on

// Arithmetic on widened operands whose result fits the narrow type is done there.
Ref Narrow(Graph& g, const Match& m) {
  Ref root = m.root();
  Ref a = root->src(0)->src(0), b = root->src(1)->src(0);
  if (a->dtype != b->dtype || !dtype::IsFixedWidthInteger(a->dtype) ||
      !dtype::IsFixedWidthInteger(root->dtype))
    return nullptr;
  if (!dtype::IsLosslessCast(a->dtype, root->dtype)) return nullptr;
  Ref narrow = g.Binary(root->op, a, b);
  return IsExact(g, narrow) ? g.Cast(narrow, root->dtype) : nullptr;
}

constexpr auto kNarrowing = rules(rule(any_of<Op::kAdd, Op::kMul>(cast(x), cast(y)), Narrow));

}  // namespace

constexpr RuleTable kCastRules = MakeTable<kCasts, Domain::kAny>("casts");
constexpr RuleTable kNarrowingRules = MakeTable<kNarrowing, Domain::kInteger>("narrowing");

}  // namespace kiln::symbolic
