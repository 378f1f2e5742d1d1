#include "tests/replay/facts_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "tests/replay/graph_view.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

absl::Status Bad(absl::string_view message) { return absl::InvalidArgumentError(message); }
absl::Status Wrong(absl::string_view message) { return absl::FailedPreconditionError(message); }

std::string OpName(Ref n) { return std::string(uop::Name(n->op)); }

absl::StatusOr<Ref> SourceAt(Ref n, const Json& index) {
  const std::vector<Ref> src = FixtureSources(n);
  KILN_ASSIGN_OR_RETURN(const int64_t i, ParseInt64(index));
  if (i < 0 || i >= static_cast<int64_t>(src.size())) {
    return Wrong(absl::StrCat("no source ", i, " of ", src.size()));
  }
  return src[static_cast<size_t>(i)];
}

// Whether there are `want` nodes in `root`'s graph for which `is` holds.
template <typename Predicate>
absl::Status CheckCount(Ref root, const Json& want, absl::string_view what, Predicate is) {
  KILN_ASSIGN_OR_RETURN(const int64_t count, ParseInt64(want));
  std::set<int64_t> got;  // Both ways to count the lanes of vectors are right.
  for (Lanes lanes : {Lanes::kNodes, Lanes::kPart}) {
    const std::vector<Ref> nodes = NodesBelow(root, lanes);
    got.insert(std::count_if(nodes.begin(), nodes.end(), is));
  }
  if (got.contains(count)) return absl::OkStatus();
  return Wrong(absl::StrCat(*got.rbegin(), " ", what, ", want ", count));
}

bool Contains(Ref root, absl::string_view op) {
  const std::vector<Ref> nodes = NodesBelow(root, Lanes::kNodes);
  return std::any_of(nodes.begin(), nodes.end(), [&](Ref n) { return IsCalled(n, op); });
}

class Checker {
 public:
  explicit Checker(RecordGraph& record) : record_(record) {}

  // Facts nest no deeper than JSON may.
  absl::Status CheckAll(const Json& facts, Ref n) {
    if (!facts.is_object()) return Bad(absl::StrCat("facts are not an object: ", Shorten(facts)));
    for (const auto& [name, fact] : facts.items()) {
      KILN_RETURN_IF_ERROR(Check(name, fact, n)) << "fact " << name;
    }
    return absl::OkStatus();
  }

  absl::Status CheckEval(const Json& fact, Ref n) {
    if (!fact.is_array()) return Bad("not a list");
    for (const Json& point : fact) {
      KILN_ASSIGN_OR_RETURN(const symbolic::Bindings bindings,
                            ParseBindings(point.at("var_vals"), record_.nodes()));
      KILN_ASSIGN_OR_RETURN(const Scalar want, ParseConstant(point.at("value"), n->dtype));
      const absl::StatusOr<Scalar> got = symbolic::Evaluate(record_.graph(), n, bindings);
      if (got.ok() && *got == want) continue;
      return Wrong(
          absl::StrCat(Shorten(point), " gives ",
                       got.ok() ? ToText(*got, n->dtype) : std::string(got.status().message())));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Check(const std::string& name, const Json& fact, Ref n) {
    if (name == "op") return CheckOp(fact, n);
    if (name == "dtype") return CheckDType(fact, n);
    if (name == "arg") return CheckArg(Json::array({fact}), n);
    if (name == "arg_in") return CheckArg(fact, n);
    if (name == "num_nodes") return CheckCount(n, fact, "nodes", [](Ref) { return true; });
    if (name == "num_src") return CheckNumSources(fact, n);
    if (name == "count") return CheckCounts(fact, n);
    if (name == "has" || name == "has_not") return CheckOps(fact, name == "has", n);
    if (name == "src") return CheckSources(fact, n);
    if (name == "every_src") return CheckEvery(fact, FixtureSources(n));
    if (name == "all") return CheckEveryOf(fact, n);
    if (name == "same") return CheckSame(fact, n);
    if (name == "same_src") return CheckSameSources(fact, n);
    if (name == "not_all_same_src") return CheckNotAllSame(fact, n);
    if (name == "render") return CheckRender(fact, n);
    if (name == "eval") return CheckEval(fact, n);
    return Bad("unknown");
  }

  absl::Status CheckOp(const Json& fact, Ref n) {
    const std::string& op = fact.get_ref<const std::string&>();
    return IsCalled(n, op) ? absl::OkStatus() : Wrong(absl::StrCat(OpName(n), ", want ", op));
  }

  absl::Status CheckDType(const Json& fact, Ref n) {
    KILN_ASSIGN_OR_RETURN(const FixtureDType want, ParseFixtureDType(fact));
    KILN_ASSIGN_OR_RETURN(const FixtureDType got, FixtureDTypeOf(record_.graph(), n));
    if (got == want) return absl::OkStatus();
    return Wrong(absl::StrCat(ToText(got), ", want ", ToText(want)));
  }

  absl::Status CheckArg(const Json& accepted, Ref n) {
    if (!accepted.is_array()) return Bad("not a list");
    if (std::any_of(accepted.begin(), accepted.end(),
                    [&](const Json& a) { return HasArg(n, a); })) {
      return absl::OkStatus();
    }
    const std::string value = n->IsConst() ? " " + ToText(n->arg.scalar(), n->dtype) : "";
    return Wrong(absl::StrCat("that of ", OpName(n), value, ", want ", Shorten(accepted)));
  }

  // A constant vector is a VCONST without sources or a VECTORIZE.
  absl::Status CheckNumSources(const Json& fact, Ref n) {
    KILN_ASSIGN_OR_RETURN(const int64_t want, ParseInt64(fact));
    const int64_t got = static_cast<int64_t>(FixtureSources(n).size());
    if (got == want || (want == 0 && IsCalled(n, "VCONST"))) return absl::OkStatus();
    return Wrong(absl::StrCat(got, ", want ", want));
  }

  absl::Status CheckCounts(const Json& fact, Ref n) {
    if (!fact.is_object()) return Bad("not an object");
    for (const auto& [op, count] : fact.items()) {
      KILN_RETURN_IF_ERROR(CheckCount(n, count, op, [&op = op](Ref m) { return IsCalled(m, op); }));
    }
    return absl::OkStatus();
  }

  absl::Status CheckOps(const Json& fact, bool want, Ref n) {
    if (!fact.is_array()) return Bad("not a list");
    for (const Json& op : fact) {
      const std::string& name = op.get_ref<const std::string&>();
      if (Contains(n, name) != want) return Wrong(name);
    }
    return absl::OkStatus();
  }

  absl::Status CheckSources(const Json& fact, Ref n) {
    if (!fact.is_object()) return Bad("not an object");
    for (const auto& [index, facts] : fact.items()) {
      int64_t i = 0;
      if (!absl::SimpleAtoi(index, &i)) return Bad(absl::StrCat("not an index: ", index));
      KILN_ASSIGN_OR_RETURN(Ref source, SourceAt(n, i));
      KILN_RETURN_IF_ERROR(CheckAll(facts, source)) << "source " << i;
    }
    return absl::OkStatus();
  }

  absl::Status CheckEvery(const Json& facts, const std::vector<Ref>& nodes) {
    for (Ref n : nodes) KILN_RETURN_IF_ERROR(CheckAll(facts, n)) << OpName(n);
    return absl::OkStatus();
  }

  // Each of a list of facts, for every node of its op.
  absl::Status CheckEveryOf(const Json& fact, Ref root) {
    if (!fact.is_array()) return Bad("not a list");
    for (const Json& facts : fact) {
      const std::string& op = facts.at("op").get_ref<const std::string&>();
      std::vector<Ref> nodes = NodesBelow(root, Lanes::kNodes);
      std::erase_if(nodes, [&](Ref n) { return !IsCalled(n, op); });
      KILN_RETURN_IF_ERROR(CheckEvery(facts, nodes));
    }
    return absl::OkStatus();
  }

  absl::Status CheckSame(const Json& fact, Ref n) {
    KILN_ASSIGN_OR_RETURN(Ref want, record_.At(fact));
    if (n == want) return absl::OkStatus();
    return Wrong(absl::StrCat(symbolic::Render(n, 200), ", want node ", Shorten(fact), " ",
                              symbolic::Render(want, 200)));
  }

  absl::Status CheckSameSources(const Json& fact, Ref n) {
    if (!fact.is_array() || fact.size() != 2) return Bad("not two indices");
    KILN_ASSIGN_OR_RETURN(Ref a, SourceAt(n, fact[0]));
    KILN_ASSIGN_OR_RETURN(Ref b, SourceAt(n, fact[1]));
    return a == b ? absl::OkStatus() : Wrong(absl::StrCat("sources of ", OpName(n), " differ"));
  }

  absl::Status CheckNotAllSame(const Json& fact, Ref n) {
    if (!fact.get<bool>()) return Bad("not true");
    const std::vector<Ref> src = FixtureSources(n);
    if (std::any_of(src.begin(), src.end(), [&](Ref s) { return s != src[0]; })) {
      return absl::OkStatus();
    }
    return Wrong(absl::StrCat("sources of ", OpName(n), " are one node"));
  }

  absl::Status CheckRender(const Json& fact, Ref n) {
    if (!fact.is_array()) return Bad("not a list");
    const std::string got = symbolic::Render(n);
    if (std::find(fact.begin(), fact.end(), Json(got)) != fact.end()) return absl::OkStatus();
    return Wrong(absl::StrCat(got, ", want ", Shorten(fact)));
  }

  RecordGraph& record_;
};

}  // namespace

absl::Status CheckFacts(RecordGraph& record, const Json& facts, Ref result) {
  return Checker(record).CheckAll(facts, result);
}

absl::Status CheckEvalFacts(RecordGraph& record, const Json& facts, Ref result) {
  const auto eval = facts.find("eval");
  if (eval == facts.end()) return absl::OkStatus();
  return Checker(record).CheckEval(*eval, result);
}

}  // namespace kiln::replay
