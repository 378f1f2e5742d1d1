// What Effort::kFull adds.

#include "core/symbolic/affine.h"
#include "core/symbolic/rule_sets.h"
#include "core/symbolic/validity.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// (a + b + ...) * c -> a*c + b*c + ..., the whole sum at once.
Ref Distribute(Graph& g, const Match& m) {
  const std::optional<Affine> sum = AffineOf(g, m.root());
  return sum.has_value() ? ToNode(g, m.root()->dtype, *sum) : nullptr;
}

// Each clause, given those before it.
Ref SimplifyClauses(Graph& g, const Match& m) {
  absl::StatusOr<Ref> result = SimplifyConjunction(g, m.root());
  return result.ok() ? *result : m.Fail(result.status());
}

constexpr auto kDistribute =
    rules(rule((x + y) * c0, Distribute)
              .grows("index expressions are compared and divided as sums of terms"));

constexpr auto kValidity = rules(rule(p & q, SimplifyClauses));

Ref ToBool(Graph& g, const Match& m) {
  return dtype::IsFixedWidthInteger(m[x]->dtype) ? g.Cast(m[x], DType::kBool) : nullptr;
}

constexpr auto kMerge = rules(rule(x != 0, ToBool));

}  // namespace

constexpr RuleTable kDistributeRules = MakeTable<kDistribute, Domain::kInteger>("distribute");
constexpr RuleTable kValidityRules = MakeTable<kValidity, Domain::kBool>("validity");
constexpr RuleTable kMergeRules = MakeTable<kMerge, Domain::kInteger>("merge");

}  // namespace kiln::symbolic
