// Floats as if they were real numbers: only when the session asks for fast math.

#include "core/symbolic/rule_sets.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// clang-format off
// Breaks signed zeros, and infinities and NaN times zero.
constexpr auto kFloatIdentities = rules(
    rule(x + 0, x),
    rule(x * 0, 0),
    rule(x * recip(x), 1),
    rule((x * y) * recip(y), x),
    rule(op<Op::kFDiv>(x, x), 1),
    rule(pow(x, 0.5), sqrt(x)),
    rule(pow(2, x), exp2(x)));

// Reassociates: the last bits change.
constexpr auto kFloatCollect = rules(
    rule((x + c0) + c1, x + (c0 + c1)),
    rule((x * c0) * c1, x * (c0 * c1)),
    rule(x * c0 + x * c1, x * (c0 + c1)),
    rule(x + x * c0, x * (c0 + 1)),
    rule((y + x * c0) + x * c1, y + x * (c0 + c1)),
    rule((y + x) + x * c0, y + x * (c0 + 1)),
    rule((y + x * c0) + x, y + x * (c0 + 1)),
    rule((y + x) + x, y + x * 2));

constexpr auto kFloatReciprocal = rules(
    rule(recip(x * x), recip(x) * recip(x)).grows("exposes the factors to the product around it"),
    rule(recip(x * c0), recip(x) * recip(c0)).grows("a constant reciprocal folds"),
    rule(recip(recip(x)), x));
// clang-format on

}  // namespace

constexpr RuleTable kFloatIdentityRules =
    MakeTable<kFloatIdentities, Domain::kFastMath>("float identities");
constexpr RuleTable kFloatCollectRules =
    MakeTable<kFloatCollect, Domain::kFastMath>("float collect");
constexpr RuleTable kFloatReciprocalRules =
    MakeTable<kFloatReciprocal, Domain::kFastMath>("float reciprocal");

}  // namespace kiln::symbolic
