// Simplification, bounds, evaluation and validity of expressions: tests core/symbolic.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/codegen/lower_expression.h"
#include "core/dtype/status.h"
#include "core/symbolic/evaluate.h"
#include "core/symbolic/factor.h"
#include "core/symbolic/render.h"
#include "core/symbolic/resolve.h"
#include "core/symbolic/simplify.h"
#include "core/symbolic/validity.h"
#include "core/uop/facts.h"
#include "tests/replay/factor_check.h"
#include "tests/replay/graph_json.h"
#include "tests/replay/graph_view.h"
#include "tests/replay/render_check.h"
#include "tests/replay/sample.h"
#include "tests/replay/sets.h"
#include "tests/replay/value.h"

namespace kiln::replay {
namespace {

using symbolic::Effort;

// A form, or a proof, that falls short: no failure where the reference falls short, too.
absl::Status Wrong(absl::string_view message) { return absl::FailedPreconditionError(message); }
absl::Status WrongValue(absl::string_view message) { return absl::InternalError(message); }

absl::Status CheckEqual(bool got, const Json& want) {
  if (got == want.get<bool>()) return absl::OkStatus();
  return Wrong(absl::StrCat("got ", got, ", want ", want.dump()));
}

// The end of an interval: an integer, or "inf", "-inf".
absl::StatusOr<Int128> ParseEnd(const Json& json) {
  if (json == "inf") return Bounds::kPosInf;
  if (json == "-inf") return Bounds::kNegInf;
  return ParseWide(json);
}

absl::Status CheckFloatBounds(Graph& g, Ref n, const Json& lo, const Json& hi) {
  const uop::FloatBounds got = uop::FloatBoundsOf(g, n);
  KILN_ASSIGN_OR_RETURN(const Scalar want_lo, ParseConstant(lo, n->dtype));
  KILN_ASSIGN_OR_RETURN(const Scalar want_hi, ParseConstant(hi, n->dtype));
  if (got.lo == want_lo.AsFloat() && got.hi == want_hi.AsFloat()) return absl::OkStatus();
  return Wrong(
      absl::StrCat("bounds [", got.lo, ", ", got.hi, "], want [", lo.dump(), ", ", hi.dump(), "]"));
}

absl::Status CheckBounds(Graph& g, Ref n, const Json& lo, const Json& hi) {
  if (n->dtype == DType::kVoid) return absl::InvalidArgumentError("bounds of an effect");
  if (dtype::IsFloat(n->dtype)) return CheckFloatBounds(g, n, lo, hi);
  const Bounds& got = BoundsOf(g, n);
  KILN_ASSIGN_OR_RETURN(const Int128 want_lo, ParseEnd(lo));
  KILN_ASSIGN_OR_RETURN(const Int128 want_hi, ParseEnd(hi));
  if (got == Bounds{want_lo, want_hi}) return absl::OkStatus();
  return Wrong(absl::StrCat("bounds [", ToString(got.lo), ", ", ToString(got.hi), "], want [",
                            lo.dump(), ", ", hi.dump(), "]"));
}

// One record of a kind whose question is about its node `root`.
class Question {
 public:
  Question(const Record& record, RecordGraph& nodes, Ref root, RenderCheck& renders)
      : record_(record), nodes_(nodes), g_(nodes.graph()), root_(root), renders_(renders) {}

  absl::Status Check() {
    const std::string& kind = record_.kind;
    if (kind == "render") return CheckRender();
    if (kind == "bounds") return CheckBounds(g_, root_, Expect("vmin"), Expect("vmax"));
    if (kind == "bounds_contain") return CheckContain();
    if (kind == "eval") return CheckEval();
    if (kind == "ssimplify") return CheckConstant();
    if (kind == "resolve") return CheckResolve();
    if (kind == "sym_infer") return CheckInfer();
    if (kind == "simplify_raises") return CheckRaises();
    if (kind == "const_factor") return CheckConstFactor(g_, root_, Expect("value"));
    if (kind == "divides") return CheckDivides();
    if (kind == "is_increasing") {
      return CheckEqual(symbolic::IsIncreasing(root_), Expect("value"));
    }
    if (kind == "vars") return CheckVariables();
    if (kind == "simplify_valid") return CheckConjunction();
    if (kind == "valid_idx") return CheckGatedLoad();
    return absl::InvalidArgumentError(absl::StrCat("unknown kind \"", kind, "\""));
  }

 private:
  const Json& Get(const char* key) const { return record_.json.at(key); }
  const Json& Expect(const char* key) const { return Get("expect").at(key); }

  absl::Status CheckRender() {
    KILN_ASSIGN_OR_RETURN(Ref got, symbolic::Simplify(g_, root_, Effort::kFull));
    KILN_RETURN_IF_ERROR(CheckSameValue(g_, root_, got));
    KILN_RETURN_IF_ERROR(renders_.Check(record_.id, g_, got, Expect("render"), root_));
    return CheckBounds(g_, got, Expect("vmin"), Expect("vmax"));
  }

  absl::Status CheckContain() {
    if (!dtype::IsInteger(root_->dtype)) return absl::InvalidArgumentError("not an integer");
    KILN_ASSIGN_OR_RETURN(const Int128 lo, ParseEnd(Expect("lo")));
    KILN_ASSIGN_OR_RETURN(const Int128 hi, ParseEnd(Expect("hi")));
    const Bounds& got = BoundsOf(g_, root_);
    if (got.lo <= lo && hi <= got.hi) return absl::OkStatus();
    return Wrong(absl::StrCat("bounds [", ToString(got.lo), ", ", ToString(got.hi),
                              "] do not contain [", ToString(lo), ", ", ToString(hi), "]"));
  }

  absl::Status CheckEval() {
    const absl::StatusOr<Scalar> got = symbolic::ConstantValue(g_, root_);
    if (Get("expect").contains("raises")) {
      if (absl::IsFailedPrecondition(got.status())) return absl::OkStatus();
      if (!got.ok()) return got.status();
      return Wrong(
          absl::StrCat("got ", ToText(*got, root_->dtype), ", want ", Expect("raises").dump()));
    }
    if (Get("as") == "bool" && got.ok()) return CheckEqual(got->AsBool(), Expect("value"));
    return CheckValue(got, Expect("value"));
  }

  absl::Status CheckValue(const absl::StatusOr<Scalar>& got, const Json& json) {
    KILN_RETURN_IF_ERROR(got.status());
    KILN_ASSIGN_OR_RETURN(const Scalar want, ParseConstant(json, root_->dtype));
    if (*got == want) return absl::OkStatus();
    return WrongValue(absl::StrCat("got ", ToText(*got, root_->dtype), ", want ", json.dump()));
  }

  absl::Status CheckConstant() {
    KILN_ASSIGN_OR_RETURN(Ref got, symbolic::Simplify(g_, root_));
    if (!got->IsConst()) return Wrong(absl::StrCat("got ", symbolic::Render(got)));
    return CheckValue(got->arg.scalar(), Expect("value"));
  }

  absl::Status CheckResolve() {
    if (root_->dtype != DType::kBool) return absl::InvalidArgumentError("not a bool");
    KILN_ASSIGN_OR_RETURN(const bool got, symbolic::Resolve(g_, root_, Get("default").get<bool>()));
    return CheckEqual(got, Expect("value"));
  }

  absl::Status CheckInfer() {
    KILN_ASSIGN_OR_RETURN(const symbolic::Bindings bindings,
                          ParseBindings(Get("var_vals"), nodes_.nodes()));
    KILN_RETURN_IF_ERROR(CheckValue(symbolic::Evaluate(g_, root_, bindings), Expect("value")))
        << "as given";
    KILN_ASSIGN_OR_RETURN(Ref simple, symbolic::Simplify(g_, root_));
    KILN_RETURN_IF_ERROR(CheckValue(symbolic::Evaluate(g_, simple, bindings), Expect("value")))
        << "simplified to " << symbolic::Render(simple);
    return absl::OkStatus();
  }

  absl::Status CheckRaises() {
    if (Expect("raises") != "division_by_zero") {
      return absl::InvalidArgumentError(absl::StrCat("unknown error ", Expect("raises").dump()));
    }
    const absl::StatusOr<Ref> got = symbolic::Simplify(g_, root_);
    if (absl::IsInvalidArgument(got.status())) return absl::OkStatus();
    return got.ok() ? Wrong(absl::StrCat("got ", symbolic::Render(*got))) : got.status();
  }

  absl::Status CheckDivides() {
    KILN_ASSIGN_OR_RETURN(const int64_t divisor, ParseInt64(Get("divisor")));
    if (divisor == 0) return absl::InvalidArgumentError("a divisor of 0");
    Ref got = symbolic::Divide(g_, root_, divisor);
    if (Expect("result").is_null()) {
      return got == nullptr ? absl::OkStatus() : Wrong(absl::StrCat("got ", symbolic::Render(got)));
    }
    if (got == nullptr) return Wrong("got no quotient");
    KILN_ASSIGN_OR_RETURN(Ref want, nodes_.At(Expect("result")));
    if (got == want) return absl::OkStatus();
    // The quotient is not to be simplified, but which factors of 1 and sums of constants are left
    // in it is a matter of taste.
    KILN_ASSIGN_OR_RETURN(Ref simple_got, symbolic::Simplify(g_, got));
    KILN_ASSIGN_OR_RETURN(Ref simple_want, symbolic::Simplify(g_, want));
    if (simple_got == simple_want) return absl::OkStatus();
    return Wrong(absl::StrCat("got ", symbolic::Render(got), ", want ", symbolic::Render(want)));
  }

  absl::Status CheckVariables() {
    const std::vector<std::string> got = symbolic::VariableNames(root_);
    if (Json(got) == Expect("names")) return absl::OkStatus();
    return Wrong(absl::StrCat("got ", absl::StrJoin(got, ", "), ", want ", Expect("names").dump()));
  }

  absl::Status CheckConjunction() {
    if (root_->dtype != DType::kBool) return absl::InvalidArgumentError("not a bool");
    KILN_ASSIGN_OR_RETURN(Ref got, symbolic::SimplifyConjunction(g_, root_));
    KILN_RETURN_IF_ERROR(CheckSameValue(g_, root_, got));
    const bool want_changed = Expect("changed").get<bool>();
    if ((got != root_) != want_changed) {
      return Wrong(absl::StrCat("got ", symbolic::Render(got), want_changed ? ", unchanged" : "",
                                ", want ", want_changed ? "it" : "nothing", " changed from ",
                                symbolic::Render(root_)));
    }
    if (Expect("render").is_null()) return absl::OkStatus();
    KILN_ASSIGN_OR_RETURN(got, symbolic::Simplify(g_, got, Effort::kSymbolic));
    return renders_.Check(record_.id, g_, got, Expect("render"), root_);
  }

  // A load whose index and gate are known: `valid_idx`.
  absl::Status CheckGatedLoad() {
    KILN_ASSIGN_OR_RETURN(Ref load, codegen::LowerExpression(g_, root_, codegen::OpSupport{}));
    if (record_.json.value("always_invalid", false)) {
      if (load->IsConst() && load->arg.scalar() == Scalar()) return absl::OkStatus();
      return Wrong(absl::StrCat("got ", symbolic::Render(load), ", want 0"));
    }
    KILN_ASSIGN_OR_RETURN(Ref valid, nodes_.At(Get("valid")));
    if (!Get("idx").is_array() || Get("idx").size() != 1 || Expect("idx").size() != 1) {
      return absl::InvalidArgumentError("not one index");
    }
    KILN_ASSIGN_OR_RETURN(Ref index, nodes_.At(Get("idx").at(0)));
    if (!load->Is(Op::kLoad)) return Wrong(absl::StrCat("not a load: ", symbolic::Render(load)));
    Ref place = load->src(0);
    Ref gate = place->num_src == 3 ? place->src(2) : nullptr;
    KILN_RETURN_IF_ERROR(CheckSameAccess(valid, index, gate, place->src(1)));
    KILN_RETURN_IF_ERROR(
        renders_.Check(record_.id, g_, place->src(1), Json::array({Expect("idx").at(0)}), root_))
        << "index";
    if (Expect("valid").is_null() || gate == nullptr) {
      if (gate == nullptr && Expect("valid").is_null()) return absl::OkStatus();
      return Wrong(absl::StrCat("gate is ", gate == nullptr ? "gone" : symbolic::Render(gate),
                                ", want ", Expect("valid").dump()));
    }
    KILN_RETURN_IF_ERROR(
        renders_.Check(record_.id, g_, gate, Json::array({Expect("valid")}), root_))
        << "gate";
    return absl::OkStatus();
  }

  // At sampled points: the same gate, and where it is open the same index.
  absl::Status CheckSameAccess(Ref valid, Ref index, Ref gate, Ref new_index) {
    return ForEachSample(
        g_, root_, kSamplePoints, [&](const symbolic::Bindings& b) -> absl::Status {
          KILN_ASSIGN_OR_RETURN(const Scalar open, symbolic::Evaluate(g_, valid, b));
          Scalar now_open = Scalar::Bool(true);
          if (gate != nullptr) {
            KILN_ASSIGN_OR_RETURN(now_open, symbolic::Evaluate(g_, gate, b));
          }
          if (open != now_open) return WrongValue(absl::StrCat("the gate changes at ", ToText(b)));
          if (!open.AsBool()) return absl::OkStatus();
          KILN_ASSIGN_OR_RETURN(const Scalar before, symbolic::Evaluate(g_, index, b));
          KILN_ASSIGN_OR_RETURN(const Scalar after, symbolic::Evaluate(g_, new_index, b));
          if (before == after) return absl::OkStatus();
          return WrongValue(absl::StrCat("the index changes at ", ToText(b), " from ",
                                         before.AsInt(), " to ", after.AsInt()));
        });
  }

  const Record& record_;
  RecordGraph& nodes_;
  Graph& g_;
  Ref root_;
  RenderCheck& renders_;
};

class SymbolicSet final : public FixtureSet {
 public:
  std::string_view name() const override { return "symbolic"; }
  std::vector<std::string> files() const override { return {"symbolic"}; }

  Result Run(const Record& record) override {
    RecordGraph nodes;
    if (absl::Status s = nodes.Load(record.json.at("nodes")); !s.ok()) return ResultOf(s);
    if (absl::Status s = nodes.RequireDefined(); !s.ok()) return ResultOf(s);
    const absl::StatusOr<Ref> root = nodes.At(record.json.at("root"));
    if (!root.ok()) return ResultOf(root.status());
    const absl::Status status = Question(record, nodes, *root, renders_).Check();
    // Where the reference falls short, reaching the right result is a bonus.
    if (record.json.value("reference_fails", false)) {
      if (status.ok()) return Pass("reached what the reference does not reach");
      if (absl::IsFailedPrecondition(status)) {
        return Pass("short of what the reference does not reach; values are right");
      }
    }
    return status.ok() ? Pass() : ResultOf(status);
  }

  std::vector<std::string> Summary() const override { return renders_.Summary(); }

 private:
  RenderCheck renders_;
};

}  // namespace

std::unique_ptr<FixtureSet> MakeSymbolicSet() { return std::make_unique<SymbolicSet>(); }

}  // namespace kiln::replay
