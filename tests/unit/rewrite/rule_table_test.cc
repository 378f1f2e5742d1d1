// Every rule of every table: that it keeps values over its table's domain, that it shrinks the rewrite order or says why not, and
// that it can be reached.
//
// A rule writes instances of its own left side (RuleInfo::instance), with operands that rule_instances.h picks; what it makes of them
// is compared with what they were, by evaluation. Deterministic; KILN_RANDOM_SEED varies it.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/symbolic/rule_sets.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"
#include "tests/support/random_runs.h"
#include "tests/unit/rewrite/rule_instances.h"
#include "tests/unit/rewrite/rule_observe.h"

namespace kiln::rewrite {
namespace {

// A rule is tried until it has fired so often, on as many instances at most.
constexpr int kEnoughHits = 60;
constexpr int kMaxInstances = 60'000;
constexpr int kBindingsPerInstance = 8;

std::vector<const RuleTable*> AllTables() {
  std::vector<const RuleTable*> tables;
  for (const symbolic::NamedRuleSet& set : symbolic::AllRuleSets()) {
    for (const RuleTable* table : set.rules->all()) {
      if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
    }
  }
  return tables;
}

std::string Describe(const RuleTable& table, const RuleInfo& rule) {
  const std::string file = std::filesystem::path(rule.where.file_name()).filename();
  return absl::StrCat(std::string(table.name), ", ", file, ":", rule.where.line(), ": ",
                      rule.text());
}

// What became of the instances of one rule.
class RuleCheck {
 public:
  RuleCheck(const RuleTable& table, const RuleInfo& rule)
      : table_(table),
        rule_(rule),
        builder_(BuilderFor(table.name, rule.text())),
        source_(support::RandomRunsFromEnvironment().first_seed * 1'000'000 +
                    rule.where.line() * 1000 + rule.where.column(),
                table.domain) {}

  void Run() {
    for (; instances_ < kMaxInstances && (hits_ < kEnoughHits || reached_ == 0) && wrong_.empty();
         ++instances_) {
      Graph g;
      const DType d = source_.NextDType();
      Ref before = builder_ != nullptr ? builder_(g, source_) : rule_.instance(g, source_, d);
      if (before == nullptr) {
        ++unwritable_;
      } else if (MakesSense(g, before)) {
        Try(g, before);
      }
    }
  }

  // Null if it writes its own instances.
  bool CanBeWritten() const { return unwritable_ < instances_; }
  int hits() const { return hits_; }
  int reached() const { return reached_; }
  int instances() const { return instances_; }
  const std::string& wrong() const { return wrong_; }
  const std::string& larger() const { return larger_; }
  // Which rules of the table fired instead.
  std::string Shadows() const {
    std::string out;
    for (const RuleInfo* r : shadows_) absl::StrAppend(&out, "\n    ", r->text());
    return out;
  }

 private:
  void Try(Graph& g, Ref before) {
    Scope scope{.graph = g, .context = {}};
    Ref after = rule_.try_alone(scope, before);
    if (!scope.error.ok()) {
      ++hits_;
      CheckHasNoValue(g, before);
    } else if (after != nullptr) {
      ++hits_;
      CheckSameValue(g, before, after);
      CheckSize(before, after);
    } else {
      return;
    }
    CheckReached(g, before);
  }

  void CheckReached(Graph& g, Ref before) {
    Scope scope{.graph = g, .context = {}};
    Ref after = table_.try_op[static_cast<size_t>(before->op)](scope, before);
    if (scope.fired == &rule_ || (after == nullptr && !scope.error.ok())) {
      ++reached_;
    } else if (scope.fired != nullptr) {
      shadows_.insert(scope.fired);
    }
  }

  // A rule that reports an error must be right about it.
  void CheckHasNoValue(Graph& g, Ref before) {
    for (int i = 0; i < kBindingsPerInstance; ++i) {
      const symbolic::Bindings bindings = RandomBindings(source_.random(), before);
      if (Observe(g, before, bindings).ok()) {
        wrong_ = absl::StrCat(uop::ToText(before), " is an error to the rule, but has a value");
      }
    }
  }

  void CheckSameValue(Graph& g, Ref before, Ref after) {
    if (after->dtype != before->dtype) {
      wrong_ = absl::StrCat(uop::ToText(before), " changes its dtype: ", uop::ToText(after));
      return;
    }
    Ref both = g.Make(Op::kSink, DType::kVoid, {before, after});
    for (int i = 0; i < kBindingsPerInstance && wrong_.empty(); ++i) {
      const symbolic::Bindings bindings = RandomBindings(source_.random(), both);
      const auto want = Observe(g, before, bindings);
      if (!want.ok()) continue;  // Undefined: anything goes.
      if (SeesNanPayload(g, before, bindings)) continue;
      if (table_.domain == Domain::kDefinedInteger && DividesByZero(g, before, bindings)) continue;
      const auto got = Observe(g, after, bindings);
      if (!got.ok() || !Same(g, before, after, bindings, *want, *got)) {
        wrong_ = absl::StrCat(uop::ToText(before), "\n  became ", uop::ToText(after), "\n  where ",
                              Text(bindings), "\n  is ", Text(before->dtype, *want), "\n  but ",
                              got.ok() ? Text(before->dtype, *got) : got.status().ToString());
      }
    }
  }

  bool Same(Graph& g, Ref before, Ref after, const symbolic::Bindings& bindings,
            const std::vector<Scalar>& want, const std::vector<Scalar>& got) const {
    if (want == got) return true;
    if (table_.domain != Domain::kFastMath || want.size() != got.size() ||
        !dtype::IsFloat(before->dtype))
      return false;
    const double rounding =
        std::max(RoundingOf(g, before, bindings), RoundingOf(g, after, bindings));
    for (size_t i = 0; i < want.size(); ++i) {
      if (std::fabs(want[i].AsFloat() - got[i].AsFloat()) > rounding) return false;
    }
    return true;
  }

  void CheckSize(Ref before, Ref after) {
    if (!rule_.is_function || rule_.grows != nullptr || !larger_.empty()) return;
    if (uop::CountNodes(after) > uop::CountNodes(before)) {
      larger_ = absl::StrCat(uop::ToText(before), "\n  became ", uop::ToText(after));
    }
  }

  static std::string Text(const symbolic::Bindings& bindings) {
    std::string out;
    for (const auto& [name, value] : bindings.variables) {
      const bool is_float =
          name.find("float") != std::string::npos || name.find("fp8") != std::string::npos;
      absl::StrAppend(&out, name, " = ",
                      is_float ? absl::StrCat(value.AsFloat()) : absl::StrCat(value.AsInt()), ", ");
    }
    for (const auto& [axis, value] : bindings.ranges)
      absl::StrAppend(&out, "r", axis, " = ", value, ", ");
    return out;
  }
  static std::string Text(DType d, const std::vector<Scalar>& values) {
    std::string out;
    for (Scalar v : values)
      absl::StrAppend(&out, dtype::IsFloat(d) ? absl::StrCat(v.AsFloat()) : absl::StrCat(v.AsInt()),
                      " ");
    return out;
  }

  const RuleTable& table_;
  const RuleInfo& rule_;
  const InstanceBuilder builder_;
  RandomSource source_;
  int instances_ = 0, unwritable_ = 0, hits_ = 0, reached_ = 0;
  std::string wrong_, larger_;
  std::set<const RuleInfo*> shadows_;
};

class RuleTables : public ::testing::TestWithParam<const RuleTable*> {};

TEST_P(RuleTables, EveryRuleKeepsValuesShrinksAndIsReached) {
  const RuleTable& table = *GetParam();
  std::string report;
  for (const RuleInfo& rule : table.rules) {
    const std::string name = Describe(table, rule);
    if (!rule.is_function && rule.grows == nullptr) {
      EXPECT_TRUE(rule.right < rule.left) << name << "\n  does not shrink, and does not say why";
    }
    RuleCheck check(table, rule);
    check.Run();
    absl::StrAppendFormat(&report, "%9d %9d %9d  %s\n", check.instances(), check.hits(),
                          check.reached(), name);
    EXPECT_TRUE(check.CanBeWritten())
        << name << "\n  can't write an instance: it needs a builder in rule_instances.cc";
    EXPECT_TRUE(check.wrong().empty()) << name << "\n  changes a value:\n  " << check.wrong();
    EXPECT_TRUE(check.larger().empty())
        << name << "\n  grows, and does not say why:\n  " << check.larger();
    EXPECT_GT(check.hits(), 0) << name << "\n  never fires";
    if (check.hits() > 0) {
      EXPECT_GT(check.reached(), 0) << name << "\n  is shadowed by" << check.Shadows();
    }
  }
  std::cout << "instances      hits   reached  rule\n" << report;
}

INSTANTIATE_TEST_SUITE_P(All, RuleTables, ::testing::ValuesIn(AllTables()), [](const auto& test) {
  std::string name;
  for (char c : test.param->name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
});

// Tables whose rules need a context, and the test that holds each op of each target to its exact value.
const std::map<std::string, std::string> kTestedElsewhere = {
    {"missing ops", "codegen/decompose_test"},
    {"division", "codegen/integer_division_test"},
    {"native ops", "codegen/decompose_test"},
    {"native division", "codegen/decompose_test"},
    {"gated loads", "codegen/gate_loads_test"},
    {"gates", "codegen/lower_expression_test"},
    {"if blocks", "codegen/lower_expression_test"},
    {"element indices", "codegen/lower_expression_test"},
    {"elementwise", "codegen/lower_expression_test"},
};

TEST(AllTables, NoTableOfTheSourcesIsMissing) {
  std::set<std::string> names;
  for (const RuleTable* table : AllTables()) names.insert(std::string(table->name));
  const std::regex made("MakeTable<[^>]*>\\(\\s*\"([^\"]+)\"\\)");
  for (const auto& file : std::filesystem::recursive_directory_iterator("core")) {
    if (file.path().extension() != ".cc") continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator it(text.begin(), text.end(), made), end; it != end; ++it) {
      const std::string name = (*it)[1];
      EXPECT_TRUE(names.contains(name) || kTestedElsewhere.contains(name))
          << file.path() << " makes a table \"" << name << "\" that this test does not see";
    }
  }
}

TEST(AllTables, NamesAndMemoSlotsAreUnique) {
  std::set<std::string_view> names;
  for (const RuleTable* table : AllTables())
    EXPECT_TRUE(names.insert(table->name).second) << table->name;
  std::set<int> slots;
  for (const symbolic::NamedRuleSet& set : symbolic::AllRuleSets()) {
    if (set.rules->memo_slot != RuleSet::kNotMemoised) {
      EXPECT_TRUE(slots.insert(set.rules->memo_slot).second) << set.name;
    }
  }
}

}  // namespace
}  // namespace kiln::rewrite
