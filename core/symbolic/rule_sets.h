// The rule tables of the simplifier, and how they are put together.
#pragma once

#include <string_view>

#include "absl/types/span.h"

#include "core/rewrite/rule_set.h"
#include "core/symbolic/simplify.h"

namespace kiln::symbolic {

// ** one table a subject **
extern const rewrite::RuleTable kConstantRules;         // fold_rules.cc
extern const rewrite::RuleTable kIndexErrorRules;       // fold_rules.cc
extern const rewrite::RuleTable kIdentityRules;         // identity_rules.cc
extern const rewrite::RuleTable kIntegerIdentityRules;  // identity_rules.cc
extern const rewrite::RuleTable kBoolIdentityRules;     // identity_rules.cc
extern const rewrite::RuleTable kCastRules;             // cast_rules.cc
extern const rewrite::RuleTable kNarrowingRules;        // cast_rules.cc
extern const rewrite::RuleTable kFloatIdentityRules;    // float_rules.cc
extern const rewrite::RuleTable kFloatCollectRules;     // float_rules.cc
extern const rewrite::RuleTable kFloatReciprocalRules;  // float_rules.cc
extern const rewrite::RuleTable kAssumeDefinedRules;    // identity_rules.cc
extern const rewrite::RuleTable kIntegerRules;          // integer_rules.cc
extern const rewrite::RuleTable kOrderRules;            // integer_rules.cc
extern const rewrite::RuleTable kBoundsRules;           // bounds_rules.cc
extern const rewrite::RuleTable kBooleanRules;          // boolean_rules.cc
extern const rewrite::RuleTable kSelectRules;           // select_rules.cc
extern const rewrite::RuleTable kStackRules;            // stack_rules.cc
extern const rewrite::RuleTable kDistributeRules;       // full_rules.cc
extern const rewrite::RuleTable kValidityRules;         // full_rules.cc
extern const rewrite::RuleTable kMergeRules;            // full_rules.cc
extern const rewrite::RuleTable kMemoryRules;           // memory_rules.cc

// What Simplify applies.
const rewrite::RuleSet& Rules(Effort effort, Math math);

struct NamedRuleSet {
  std::string_view name;
  const rewrite::RuleSet* rules;
};
// All of them, for tests and benchmarks.
absl::Span<const NamedRuleSet> AllRuleSets();

}  // namespace kiln::symbolic
