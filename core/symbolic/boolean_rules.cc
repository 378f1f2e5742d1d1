// Boolean algebra beyond single identities.

#include "core/symbolic/rule_sets.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// clang-format off
constexpr auto kBoolean = rules(
    rule(p & (p != true), false),
    rule(p | (p != true), true),
    rule((p & q) & p, p & q),
    rule((p | q) | p, p | q),
    rule((p & q) | p, p),
    rule((p | q) & p, p),
    rule((p & q) & (p != true), false),
    rule((p | q) | (p != true), true),
    rule((p != true) & (q != true), (p | q) != true),
    rule((p != true) != (q != true), p != q));
// clang-format on

}  // namespace

constexpr RuleTable kBooleanRules = MakeTable<kBoolean, Domain::kBool>("boolean");

}  // namespace kiln::symbolic
