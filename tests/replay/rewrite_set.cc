// Graph rewrites with facts about their results, substitution, decompositions and bounds checks:
// tests core/symbolic, core/uop/substitute and core/codegen.
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "core/codegen/access.h"
#include "core/codegen/decompose.h"
#include "core/codegen/lower_expression.h"
#include "core/dtype/status.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/uop/substitute.h"
#include "tests/replay/factor_check.h"
#include "tests/replay/facts_check.h"
#include "tests/replay/graph_json.h"
#include "tests/replay/graph_view.h"
#include "tests/replay/sets.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

using symbolic::Effort;
using symbolic::Math;

absl::Status Bad(absl::string_view message) { return absl::InvalidArgumentError(message); }
absl::Status Wrong(absl::string_view message) { return absl::FailedPreconditionError(message); }

// The passes that records name (tests/fixtures/README.md). Ours do not depend on the order in which
// nodes are offered, so ":bottom_up" changes nothing.
absl::StatusOr<Ref> RunPass(Graph& g, Ref root, const std::string& pass, const Json& record,
                            Math math) {
  const absl::string_view name = absl::StripSuffix(pass, ":bottom_up");
  codegen::OpSupport target;
  if (name == "symbolic_simple") return symbolic::Simplify(g, root, Effort::kFold, math);
  if (name == "symbolic") return symbolic::Simplify(g, root, Effort::kSymbolic, math);
  // Without UNROLL and CONTRACT, which our IR does not have, there is nothing to expand.
  if (name == "sym" || name == "sym+expander") {
    return symbolic::Simplify(g, root, Effort::kFull, math);
  }
  if (name == "full_rewrite") return codegen::LowerExpression(g, root, target, math);
  if (name != "decomp") return Bad(absl::StrCat("unknown pass ", pass));
  for (const Json& op : record.at("ops")) {
    KILN_ASSIGN_OR_RETURN(const Op supported, ParseElementwiseOp(op));
    target.Add(supported);
  }
  KILN_ASSIGN_OR_RETURN(Ref folded, symbolic::Simplify(g, root, Effort::kFold, math));
  return codegen::Decompose(g, folded, target, math);
}

// Worst errors of elementary functions, for the summary.
class UlpTable {
 public:
  void Add(Op op, DType dtype, Scalar got, Scalar exact) {
    uint64_t& worst = worst_[{op, dtype}];
    worst = std::max(worst, UlpDistance(got, exact, dtype).value_or(0));
  }
  std::vector<std::string> Summary() const {
    std::vector<std::string> lines;
    for (const auto& [key, worst] : worst_) {
      const auto [op, dtype] = key;
      const uint64_t aim = dtype == DType::kFloat64 ? 2 : 1;
      lines.push_back(absl::StrCat(std::string(uop::Name(op)), " ", std::string(dtype::Name(dtype)),
                                   ": at most ", worst, " ulp off, aim ", aim,
                                   worst > aim ? " MISSED" : ""));
    }
    return lines;
  }

 private:
  std::map<std::pair<Op, DType>, uint64_t> worst_;
};

// One record with nodes.
class Question {
 public:
  Question(const Record& record, RecordGraph& nodes)
      : record_(record), json_(record.json), nodes_(nodes), g_(nodes.graph()) {}

  absl::Status Check() {
    if (record_.kind == "rewrite") return CheckRewrite();
    if (record_.kind == "rewrite_same") return CheckRewriteSame();
    if (record_.kind == "substitute") return CheckSubstitute();
    if (record_.kind == "bounds_check") return CheckAccesses();
    if (record_.kind == "eval") return CheckEval();
    if (record_.kind == "const_factor") {
      KILN_ASSIGN_OR_RETURN(Ref root, nodes_.At(json_.at("root")));
      return CheckConstFactor(g_, root, Expect("value"));
    }
    return Bad(absl::StrCat("unknown kind \"", record_.kind, "\""));
  }

  // What there is to say about a record that passed.
  std::string note() const {
    if (json_.value("reference_fails", false)) {
      return reached_ ? "reached what the reference does not reach"
                      : "no further than the reference; values are right";
    }
    return needs_fast_math_ ? "with fast math only" : "";
  }

 private:
  const Json& Expect(const char* key) const { return json_.at("expect").at(key); }

  absl::StatusOr<std::vector<Ref>> Roots() {
    std::vector<Ref> roots;
    for (const Json& index : json_.at("roots")) {
      KILN_ASSIGN_OR_RETURN(Ref root, nodes_.At(index));
      roots.push_back(root);
    }
    return roots;
  }

  // The reference computes with floats as if they were real numbers, and so must we where its facts
  // are to hold. Whether they hold with exact arithmetic, too, is a matter of interest; values are
  // right either way.
  absl::Status CheckRewrite() {
    KILN_ASSIGN_OR_RETURN(Ref root, nodes_.At(json_.at("root")));
    if (!json_.at("pass").is_array() || json_.at("pass").empty()) return Bad("no passes");
    for (const Json& pass : json_.at("pass")) {
      const std::string& name = pass.get_ref<const std::string&>();
      const absl::Status exact = CheckPass(root, name, Math::kExact);
      const absl::Status fast = CheckPass(root, name, Math::kFast);
      if (!exact.ok() && !absl::IsFailedPrecondition(exact)) return exact;
      if (absl::IsFailedPrecondition(fast) && json_.value("reference_fails", false)) {
        reached_ = false;
        continue;
      }
      KILN_RETURN_IF_ERROR(fast) << "pass " << name;
      if (!exact.ok()) needs_fast_math_ = true;
    }
    return absl::OkStatus();
  }

  // FailedPrecondition if a fact does not hold; Internal if the value is wrong.
  absl::Status CheckPass(Ref root, const std::string& pass, Math math) {
    KILN_ASSIGN_OR_RETURN(Ref got, RunPass(g_, root, pass, json_, math));
    const std::string text = symbolic::Render(got, 400);
    if (absl::Status s = CheckEvalFacts(nodes_, json_.at("expect"), got); !s.ok()) {
      return absl::InternalError(absl::StrCat(s.message(), ": got ", text));
    }
    KILN_RETURN_IF_ERROR(CheckFacts(nodes_, json_.at("expect"), got)) << "got " << text;
    return absl::OkStatus();
  }

  absl::Status CheckRewriteSame() {
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> roots, Roots());
    if (roots.size() != 2) return Bad("not two roots");
    for (const Json& pass : json_.at("pass")) {
      const std::string& name = pass.get_ref<const std::string&>();
      KILN_ASSIGN_OR_RETURN(Ref a, RunPass(g_, roots[0], name, json_, Math::kExact),
                            _ << "pass " << name);
      KILN_ASSIGN_OR_RETURN(Ref b, RunPass(g_, roots[1], name, json_, Math::kExact),
                            _ << "pass " << name);
      if ((a == b) != Expect("same").get<bool>()) {
        return Wrong(absl::StrCat("pass ", name, " gives ", symbolic::Render(a, 200), " and ",
                                  symbolic::Render(b, 200)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckSubstitute() {
    KILN_ASSIGN_OR_RETURN(Ref root, nodes_.At(json_.at("root")));
    KILN_ASSIGN_OR_RETURN(Ref want, nodes_.At(Expect("same")));
    std::vector<std::pair<Ref, Ref>> substitutions;
    for (const Json& pair : json_.at("map")) {
      KILN_ASSIGN_OR_RETURN(Ref from, nodes_.At(pair.at(0)));
      KILN_ASSIGN_OR_RETURN(Ref to, nodes_.At(pair.at(1)));
      substitutions.emplace_back(from, to);
    }
    KILN_ASSIGN_OR_RETURN(Ref got, uop::Substitute(g_, root, substitutions));
    if (got == want) return absl::OkStatus();
    return Wrong(
        absl::StrCat("got ", symbolic::Render(got, 400), ", want ", symbolic::Render(want, 400)));
  }

  absl::Status CheckAccesses() {
    KILN_ASSIGN_OR_RETURN(const std::vector<Ref> roots, Roots());
    const bool want = Expect("in_bounds").get<bool>();
    const absl::Status got = codegen::CheckAccesses(g_, g_.Make(Op::kSink, DType::kVoid, roots));
    if (got.ok() == want) return absl::OkStatus();
    return Wrong(want ? std::string(got.message()) : "an access out of bounds was not seen");
  }

  absl::Status CheckEval() {
    KILN_ASSIGN_OR_RETURN(Ref root, nodes_.At(json_.at("root")));
    symbolic::Bindings bindings;
    if (json_.contains("buffers")) {
      for (const Json& buffer : json_.at("buffers")) {
        KILN_RETURN_IF_ERROR(ReadBuffer(buffer, bindings));
      }
    }
    KILN_ASSIGN_OR_RETURN(const Scalar got, symbolic::Evaluate(g_, root, bindings));
    KILN_ASSIGN_OR_RETURN(const Scalar want, ParseConstant(Expect("value"), root->dtype));
    if (got == want) return absl::OkStatus();
    KILN_ASSIGN_OR_RETURN(const double atol, ParseDouble(Expect("atol")));
    KILN_ASSIGN_OR_RETURN(const double rtol, ParseDouble(Expect("rtol")));
    const double a = ToDouble(got, root->dtype), b = ToDouble(want, root->dtype);
    if (std::abs(a - b) <= atol + rtol * std::abs(b)) return absl::OkStatus();
    return Wrong(
        absl::StrCat("got ", ToText(got, root->dtype), ", want ", ToText(want, root->dtype)));
  }

  static absl::Status ReadBuffer(const Json& buffer, symbolic::Bindings& bindings) {
    KILN_ASSIGN_OR_RETURN(const int64_t number, ParseInt64(buffer.at("arg")));
    KILN_ASSIGN_OR_RETURN(const DType dtype, ParseScalarDType(buffer.at("dtype")));
    std::vector<Scalar>& data = bindings.buffers[number];
    for (const Json& value : buffer.at("data")) {
      KILN_ASSIGN_OR_RETURN(const Scalar scalar, ParseConstant(value, dtype));
      data.push_back(scalar);
    }
    return absl::OkStatus();
  }

  static double ToDouble(Scalar v, DType dtype) {
    return dtype::IsFloat(dtype) ? v.AsFloat() : static_cast<double>(v.AsWide(dtype));
  }

  const Record& record_;
  const Json& json_;
  RecordGraph& nodes_;
  Graph& g_;
  bool reached_ = true;
  bool needs_fast_math_ = false;
};

// An elementary function, decomposed for a target that has none.
absl::Status CheckTranscendental(const Json& json, UlpTable& table) {
  KILN_ASSIGN_OR_RETURN(const Op op, ParseElementwiseOp(json.at("op")));
  KILN_ASSIGN_OR_RETURN(const DType dtype, ParseScalarDType(json.at("dtype")));
  if (!uop::IsUnary(op) || op == Op::kCast || op == Op::kBitcast || !dtype::IsFloat(dtype)) {
    return Bad("not a function of one float");
  }
  if (!json.at("cases").is_array() || json.at("cases").empty()) return Bad("no cases");
  const bool disputed = json.value("disputed", false);
  int64_t ulp = 0;
  if (!disputed) {
    KILN_ASSIGN_OR_RETURN(ulp, ParseInt64(json.at("ulp")));
  }
  Graph g;
  // From memory, since no variable may be NaN.
  Ref buffer = g.Param(dtype, "x", 0, 1, AddressSpace::kGlobal);
  Ref x = g.Make(Op::kLoad, dtype, {g.Make(Op::kIndex, dtype, {buffer, g.Int(DType::kInt32, 0)})});
  KILN_ASSIGN_OR_RETURN(Ref y, codegen::Decompose(g, g.Unary(op, x), codegen::OpSupport{}));
  for (const Json& point : json.at("cases")) {
    KILN_ASSIGN_OR_RETURN(const Scalar input, ParseScalar(point.at(0), dtype));
    KILN_ASSIGN_OR_RETURN(const Scalar exact, ParseScalar(point.at(1), dtype));
    symbolic::Bindings bindings;
    bindings.buffers[0] = {input};
    KILN_ASSIGN_OR_RETURN(const Scalar got, symbolic::Evaluate(g, y, bindings));
    table.Add(op, dtype, got, exact);
    if (disputed || Matches(got, exact, dtype, static_cast<uint64_t>(ulp))) continue;
    return Wrong(absl::StrCat(Shorten(point), " gives ", ToText(got, dtype)));
  }
  return absl::OkStatus();
}

class RewriteSet final : public FixtureSet {
 public:
  std::string_view name() const override { return "rewrite"; }
  std::vector<std::string> files() const override { return {"rewrite"}; }

  Result Run(const Record& record) override {
    if (record.kind == "transcendental") {
      const absl::Status status = CheckTranscendental(record.json, ulps_);
      return status.ok() ? Pass() : ResultOf(status);
    }
    RecordGraph nodes;
    if (absl::Status s = nodes.Load(record.json.at("nodes")); !s.ok()) return ResultOf(s);
    if (record.kind != "substitute") {
      if (absl::Status s = nodes.RequireDefined(); !s.ok()) return ResultOf(s);
    }
    Question question(record, nodes);
    const absl::Status status = question.Check();
    return status.ok() ? Pass(question.note()) : ResultOf(status);
  }

  std::vector<std::string> Summary() const override { return ulps_.Summary(); }

 private:
  UlpTable ulps_;
};

}  // namespace

std::unique_ptr<FixtureSet> MakeRewriteSet() { return std::make_unique<RewriteSet>(); }

}  // namespace kiln::replay
