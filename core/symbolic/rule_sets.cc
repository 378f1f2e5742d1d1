#include "core/symbolic/rule_sets.h"

#include "core/symbolic/sum.h"

namespace kiln::symbolic {
namespace {

using rewrite::RuleSet;

constexpr rewrite::NaryHook kTrees = {&NaryOperands, &RebuildNary};

RuleSet FoldRules(Math math) {
  RuleSet rules = kConstantRules + kIndexErrorRules + kIdentityRules + kIntegerIdentityRules +
                  kBoolIdentityRules + kCastRules;
  if (math == Math::kFast) rules = rules + kFloatIdentityRules + kAssumeDefinedRules;
  return rules;
}

RuleSet SymbolicRules(Math math) {
  RuleSet rules = FoldRules(math) + kBoundsRules + kIntegerRules + kOrderRules + kBooleanRules +
                  kSelectRules + kNarrowingRules + kStackRules;
  if (math == Math::kFast) rules = rules + kFloatCollectRules;
  return rules.WithNary(kTrees);
}

RuleSet FullRules(Math math) {
  RuleSet rules =
      SymbolicRules(math) + kDistributeRules + kValidityRules + kMergeRules + kMemoryRules;
  if (math == Math::kFast) rules = rules + kFloatReciprocalRules;
  return rules;
}

RuleSet Build(int slot) {
  const Math math = slot % 2 == 0 ? Math::kExact : Math::kFast;
  switch (static_cast<Effort>(slot / 2)) {
    case Effort::kFold:
      return FoldRules(math).Memoised(slot);
    case Effort::kSymbolic:
      return SymbolicRules(math).Memoised(slot);
    case Effort::kFull:
      return FullRules(math).Memoised(slot);
  }
  return {};
}

constexpr int kNumSets = 6;
const RuleSet* Sets() {
  static const RuleSet sets[kNumSets] = {Build(0), Build(1), Build(2),
                                         Build(3), Build(4), Build(5)};
  return sets;
}

}  // namespace

const RuleSet& Rules(Effort effort, Math math) {
  return Sets()[static_cast<int>(effort) * 2 + (math == Math::kFast ? 1 : 0)];
}

absl::Span<const NamedRuleSet> AllRuleSets() {
  static const NamedRuleSet named[kNumSets] = {
      {"fold", &Sets()[0]},          {"fold fast", &Sets()[1]}, {"symbolic", &Sets()[2]},
      {"symbolic fast", &Sets()[3]}, {"full", &Sets()[4]},      {"full fast", &Sets()[5]}};
  return named;
}

}  // namespace kiln::symbolic
