#include "core/symbolic/evaluate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/symbolic/render.h"
#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::symbolic {
namespace {

constexpr size_t kMaxCharsInErrors = 200;

std::string Text(Ref n) { return Render(n, kMaxCharsInErrors); }
std::string Text(Scalar v, DType d) { return RenderScalar(v, d); }

// Whether lo <= v <= hi. NaN is within no bounds.
bool IsWithin(Scalar v, Scalar lo, Scalar hi, DType d) {
  if (dtype::IsFloat(d)) {
    // What is not bounded on both sides may be NaN: see FloatBounds.
    if (std::isnan(v.AsFloat())) return std::isinf(lo.AsFloat()) || std::isinf(hi.AsFloat());
    return lo.AsFloat() <= v.AsFloat() && v.AsFloat() <= hi.AsFloat();
  }
  return lo.AsWide(d) <= v.AsWide(d) && v.AsWide(d) <= hi.AsWide(d);
}

// What one look at a node gives: its value, or the node whose value it needs first.
struct Outcome {
  Ref needs = nullptr;
  Scalar value;
};
Outcome Needs(Ref n) { return {.needs = n, .value = {}}; }
Outcome Value(Scalar v) { return {.needs = nullptr, .value = v}; }

// Confined to one call of Evaluate.
class Evaluator {
 public:
  explicit Evaluator(const Bindings& bindings) : bindings_(bindings) {}

  absl::StatusOr<Scalar> Run(Ref root) {
    std::vector<Ref> stack = {root};
    while (!stack.empty()) {
      const Ref n = stack.back();
      if (!memo_.Get(n).known) {
        KILN_ASSIGN_OR_RETURN(const Outcome outcome, Look(n));
        if (outcome.needs != nullptr) {
          stack.push_back(outcome.needs);
          continue;
        }
        memo_[n] = {.known = true, .value = outcome.value};
      }
      stack.pop_back();
    }
    return memo_.Get(root).value;
  }

 private:
  struct Entry {
    bool known = false;
    Scalar value;
  };

  // Computes `n` from its sources if all of those it needs are known. A node is looked at once more
  // than it has needs, so ops with many sources don't come here.
  absl::StatusOr<Outcome> Look(Ref n) {
    switch (n->op) {
      case Op::kConst:
        return Value(n->arg.scalar());
      case Op::kVariable:
        return LookUpVariable(n);
      case Op::kBind:
        return LookAtBind(n);
      case Op::kRange:
        return LookAtRange(n);
      case Op::kSpecial:
        return LookAtSpecial(n);
      case Op::kWhere:
        return LookAtWhere(n);
      case Op::kLoad:
        return LookAtLoad(n);
      case Op::kAfter:
        return Forward(n->src(0));
      case Op::kUnstack:
        return LookAtUnstack(n);
      default:
        break;
    }
    if (uop::IsAlu(n->op)) return LookAtAlu(n);
    return absl::UnimplementedError(
        absl::StrCat("a ", std::string(uop::Name(n->op)), " has no value: ", Text(n)));
  }

  // The value of another node is the value of this one.
  Outcome Forward(Ref n) const {
    const Entry entry = memo_.Get(n);
    return entry.known ? Value(entry.value) : Needs(n);
  }

  absl::StatusOr<Outcome> LookUpVariable(Ref n) {
    const uop::VariableInfo variable = uop::VariableOf(n);
    const auto it = bindings_.variables.find(variable.name);
    if (it == bindings_.variables.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable \"", std::string(variable.name), "\" has no value; it is in [",
                       Text(variable.min, n->dtype), ", ", Text(variable.max, n->dtype), "]"));
    }
    if (!IsWithin(it->second, variable.min, variable.max, n->dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable \"", std::string(variable.name), "\" is ", Text(it->second, n->dtype),
          ", not in [", Text(variable.min, n->dtype), ", ", Text(variable.max, n->dtype), "]"));
    }
    return Value(it->second);
  }

  absl::StatusOr<Outcome> LookAtBind(Ref n) {
    const bool given = n->src(0)->op == Op::kVariable &&
                       bindings_.variables.contains(uop::VariableOf(n->src(0)).name);
    return Forward(n->src(given ? 0 : 1));
  }

  absl::StatusOr<Outcome> LookAtRange(Ref n) {
    const auto it = bindings_.ranges.find(n->arg.range().axis_id);
    std::optional<int64_t> value;
    if (it != bindings_.ranges.end()) value = it->second;
    return Counter(n, "range", value);
  }

  absl::StatusOr<Outcome> LookAtSpecial(Ref n) {
    const auto it = bindings_.variables.find(n->arg.payload().text);
    std::optional<int64_t> value;
    if (it != bindings_.variables.end()) value = it->second.AsInt();
    return Counter(n, "launch index", value);
  }

  // A node whose value is given from outside and lies in 0 .. end-1.
  absl::StatusOr<Outcome> Counter(Ref n, const char* what, std::optional<int64_t> value) {
    const Entry end = memo_.Get(n->src(0));
    if (!end.known) return Needs(n->src(0));
    if (!value.has_value() || *value < 0 || Int128{*value} >= end.value.AsWide(n->dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " \"", Text(n), "\" ",
                       value.has_value() ? absl::StrCat("is ", *value) : "has no value",
                       "; it counts from 0 to below ", Text(end.value, n->dtype)));
    }
    return Value(Scalar::Int(*value));
  }

  absl::StatusOr<Outcome> LookAtWhere(Ref n) {
    const Entry condition = memo_.Get(n->src(0));
    if (!condition.known) return Needs(n->src(0));
    return Forward(n->src(condition.value.AsBool() ? 1 : 2));
  }

  absl::StatusOr<Outcome> LookAtAlu(Ref n) {
    Scalar operands[3];
    for (int i = 0; i < n->num_src; ++i) {
      const Entry entry = memo_.Get(n->src(i));
      if (!entry.known) return Needs(n->src(i));
      operands[i] = entry.value;
    }
    const DType d = n->src(0)->dtype;
    std::optional<Scalar> result;
    if (n->op == Op::kCast || n->op == Op::kBitcast) {
      if (d != DType::kVoid && n->dtype != DType::kVoid) {
        result = n->op == Op::kCast ? dtype::Cast(operands[0], d, n->dtype)
                                    : dtype::Bitcast(operands[0], d, n->dtype);
      }
    } else {
      const auto values = absl::MakeConstSpan(operands, n->num_src);
      result = dtype::EvalAlu(uop::ToAlu(n->op), d, values);
    }
    if (result.has_value()) return Value(*result);
    return Undefined(n, operands);
  }

  // Why an elementwise op has no value.
  static absl::Status Undefined(Ref n, const Scalar (&operands)[3]) {
    const DType d = n->src(0)->dtype;
    if ((n->op == Op::kIDiv || n->op == Op::kMod) && operands[1] == Scalar::Int(0)) {
      return absl::InvalidArgumentError(absl::StrCat("division by zero in ", Text(n)));
    }
    if (n->dtype == DType::kIndex &&
        (n->op == Op::kCast || dtype::IsDefined(uop::ToAlu(n->op), d))) {
      return absl::InvalidArgumentError(absl::StrCat("value does not fit int64: ", Text(n)));
    }
    return absl::UnimplementedError(absl::StrCat(std::string(uop::Name(n->op)), " of ",
                                                 std::string(dtype::Name(d)),
                                                 " has no value: ", Text(n)));
  }

  absl::StatusOr<Outcome> LookAtLoad(Ref n) {
    const Ref place = n->src(0);
    if (place->op != Op::kIndex) {
      return absl::UnimplementedError(
          absl::StrCat("a load of something that is not an element: ", Text(n)));
    }
    if (place->num_src > 2) {
      const Entry gate = memo_.Get(place->src(2));
      if (!gate.known) return Needs(place->src(2));
      if (!gate.value.AsBool()) {
        // The second source may also be something to come after.
        const bool has_alternative = n->num_src > 1 && n->src(1)->dtype != DType::kVoid;
        return has_alternative ? Forward(n->src(1)) : Value(Scalar());  // All bits zero is 0.
      }
    }
    const Entry index = memo_.Get(place->src(1));
    if (!index.known) return Needs(place->src(1));
    return Read(n, index.value.AsWide(place->src(1)->dtype));
  }

  absl::StatusOr<Outcome> Read(Ref load, Int128 element) {
    Ref memory = load->src(0)->src(0);
    while (memory->op == Op::kAfter) memory = memory->src(0);
    if (memory->op != Op::kParam) {
      return absl::UnimplementedError(
          absl::StrCat("a load from memory without a number: ", Text(load)));
    }
    const int64_t number = uop::ParamOf(memory).number;
    const auto it = bindings_.buffers.find(number);
    if (it == bindings_.buffers.end()) {
      return absl::InvalidArgumentError(absl::StrCat("buffer ", number, " has no contents"));
    }
    const auto num_elems = static_cast<int64_t>(it->second.size());
    if (element < 0 || element >= num_elems) {
      return absl::InvalidArgumentError(absl::StrCat(
          "load of element ", ToString(element), " of buffer ", number, ", which has ", num_elems));
    }
    return Value(it->second[static_cast<size_t>(element)]);
  }

  // An element of a value that is put together from scalars right below.
  absl::StatusOr<Outcome> LookAtUnstack(Ref n) {
    std::vector<int64_t>
        path;  // Innermost last: the first axis of `value` is picked by the last entry.
    Ref value = n;
    for (;;) {
      if (value->op == Op::kUnstack) {
        path.push_back(value->arg.integer());
        value = value->src(0);
      } else if (value->op == Op::kStack && !path.empty()) {
        if (path.back() < 0 || path.back() >= value->num_src) {
          return absl::InvalidArgumentError(
              absl::StrCat("element ", path.back(), " of ", value->num_src, ": ", Text(n)));
        }
        value = value->src(static_cast<int>(path.back()));
        path.pop_back();
      } else if (path.empty()) {
        return Forward(value);
      } else {
        return absl::UnimplementedError(
            absl::StrCat("an element of a value that is not a stack: ", Text(n)));
      }
    }
  }

  const Bindings& bindings_;
  uop::NodeMap<Entry> memo_;
};

}  // namespace

absl::StatusOr<Scalar> Evaluate(Graph& /*g*/, Ref n, const Bindings& bindings) {
  return Evaluator(bindings).Run(n);
}

std::vector<std::string> VariableNames(Ref n) {
  std::vector<std::string> names;
  uop::Visit(n, [&names](Ref m) {
    if (m->op != Op::kVariable) return true;
    const std::string_view name = uop::VariableOf(m).name;
    if (!name.empty()) names.emplace_back(name);  // Anonymous ones have none.
    return true;
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace kiln::symbolic
