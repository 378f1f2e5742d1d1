// Identities that need neither bounds nor arithmetic on constants.

#include "core/symbolic/exact.h"
#include "core/symbolic/rule_sets.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

// Where dividing by zero is known not to happen: (x * y) / y is x unless the product wraps.
Ref CancelFactor(Graph& g, const Match& m) { return IsExact(g, m.root()->src(0)) ? m[x] : nullptr; }

// clang-format off
// Exact for every type.
constexpr auto kIdentities = rules(
    rule(x * 1, x),
    rule(max(x, x), x),
    rule(x + x, x * 2),
    rule(x < x, false),
    rule(where(p, x, x), x),
    rule(where(p != true, x, y), where(p, y, x)),
    rule(op<Op::kFDiv>(x, 1), x),
    // ** powers: a float square is rounded once, as pow's is **
    rule(pow(x, 0), 1),
    rule(pow(x, 1), x),
    rule(pow(f, 2), f * f).grows("pow is a long sequence on every target"),
    rule(pow(f, -1), recip(f)),
    rule(pow(1, x), 1));

// Integers with wraparound, and index.
constexpr auto kIntegerIdentities = rules(
    rule(x + 0, x),
    rule(x - 0, x),
    rule(x - y, x + y * -1).grows("sums are one kind of node"),
    rule(neg(x), x * -1).grows("a sign is a coefficient"),
    rule(x * 0, 0),
    rule(x != x, false),
    rule(x == x, true),
    rule(x ^ 0, x),
    rule(x ^ x, 0),
    rule((x ^ y) ^ y, x),
    rule(x & x, x),
    rule(x & 0, 0),
    rule(x & -1, x),
    rule(x | x, x),
    rule(x | 0, x),
    rule(x | -1, -1),
    rule(x << 0, x),
    rule(x >> 0, x),
    rule(trunc(x), x),
    // ** quotient and remainder: also where the divisor is 0, which gives x/0 = 0 and x%0 = x **
    rule(x / 1, x),
    rule(x / c0, x * -1).when(c0 == -1).grows("a sign is a coefficient"),
    rule(x % 1, 0),
    rule(x % c0, 0).when(c0 == -1),
    rule(x % x, 0),
    rule(0 / x, 0),
    rule(0 % x, 0),
    rule((x % y) % y, x % y),
    rule((x / y) * y + x % y, x),
    rule((x % y) / y, 0));

constexpr auto kBoolIdentities = rules(
    // ** arithmetic on truth values is logic **
    rule(x * y, x & y).grows("one kind of node"),
    rule(x + y, x | y).grows("one kind of node"),
    rule(max(x, y), x | y).grows("one kind of node"),
    rule(x == y, (x != y) != true).grows("one kind of node"),
    rule(p ^ q, p != q).grows("one kind of node"),
    // ** constants **
    rule(p & true, p),
    rule(p & false, false),
    rule(p | true, true),
    rule(p | false, p),
    rule(p != false, p),
    rule((p != true) != true, p),
    rule(p & p, p),
    rule(p | p, p),
    rule(p != p, false),
    rule(where(p, true, false), p),
    rule(where(p, false, true), p != true));

constexpr auto kAssumeDefined = rules(
    rule(x / x, 1),
    rule((x * y) / y, CancelFactor));
// clang-format on

}  // namespace

constexpr RuleTable kIdentityRules = MakeTable<kIdentities, Domain::kAny>("identities");
constexpr RuleTable kIntegerIdentityRules =
    MakeTable<kIntegerIdentities, Domain::kInteger>("integer identities");
constexpr RuleTable kBoolIdentityRules =
    MakeTable<kBoolIdentities, Domain::kBool>("bool identities");
constexpr RuleTable kAssumeDefinedRules =
    MakeTable<kAssumeDefined, Domain::kDefinedInteger>("assume defined");

}  // namespace kiln::symbolic
