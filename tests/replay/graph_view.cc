#include "tests/replay/graph_view.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/uop/facts.h"
#include "core/uop/node_map.h"

namespace kiln::replay {
namespace {

bool AreAllConst(Ref n) {
  return std::all_of(n->src().begin(), n->src().end(), [](Ref s) { return s->IsConst(); });
}

bool AreAllEqual(Ref n) {
  return std::all_of(n->src().begin(), n->src().end(), [&](Ref s) { return s == n->src(0); });
}

bool TakesLanesOfOne(Ref n) {
  return std::all_of(n->src().begin(), n->src().end(), [&](Ref s) {
    return s->Is(Op::kUnstack) && n->src(0)->Is(Op::kUnstack) && s->src(0) == n->src(0)->src(0);
  });
}

// How far `b` is beyond `a`, as graph_json.cc writes the elements of a vector load: constants, or a
// base and a base plus a constant. Null if it does not show.
std::optional<Int128> Distance(Ref a, Ref b) {
  const auto split = [](Ref n) -> std::pair<Ref, Int128> {
    if (IsIntConst(n)) return {nullptr, n->arg.scalar().AsWide(n->dtype)};
    if (!n->Is(Op::kAdd) || !IsIntConst(n->src(1))) return {n, 0};
    return {n->src(0), n->src(1)->arg.scalar().AsWide(n->dtype)};
  };
  const auto [base_a, offset_a] = split(a);
  const auto [base_b, offset_b] = split(b);
  if (base_a != base_b) return std::nullopt;
  return offset_b - offset_a;
}

// Whether a STACK holds loads of consecutive elements: a vector load.
bool LoadsConsecutive(Ref n) {
  Ref first = n->src(0);
  if (!first->Is(Op::kLoad) || !first->src(0)->Is(Op::kIndex)) return false;
  for (int i = 1; i < n->num_src; ++i) {
    Ref load = n->src(i);
    if (!load->Is(Op::kLoad) || load->num_src != first->num_src) return false;
    Ref place = load->src(0), first_place = first->src(0);
    if (!place->Is(Op::kIndex) || place->num_src != first_place->num_src) return false;
    if (place->src(0) != first_place->src(0)) return false;
    if (place->num_src == 3 && place->src(2) != first_place->src(2)) return false;
    if (Distance(first_place->src(1), place->src(1)) != i) return false;
  }
  return true;
}

// The name of an op that has but one. Empty for ops that the fixtures do not know.
std::string OnlyName(Ref n) {
  if (uop::IsAlu(n->op)) return std::string(dtype::Name(uop::ToAlu(n->op)));
  switch (n->op) {
    case Op::kConst:
      return "CONST";
    case Op::kVariable:
      return "DEFINE_VAR";
    case Op::kBind:
      return "BIND";
    case Op::kRange:
      return "RANGE";
    case Op::kSpecial:
      return "SPECIAL";
    case Op::kParam:
      return uop::ParamOf(n).space == AddressSpace::kGlobal ? "DEFINE_GLOBAL" : "DEFINE_LOCAL";
    case Op::kUnstack:
      return "GEP";
    case Op::kIndex:
      return "INDEX";
    case Op::kLoad:
      return "LOAD";
    case Op::kStore:
      return "STORE";
    case Op::kBarrier:
      return "BARRIER";
    case Op::kIf:
      return "IF";
    case Op::kSink:
      return "SINK";
    default:
      return "";
  }
}

bool IsScalar(const Json& json, Scalar want, DType dtype) {
  const absl::StatusOr<Scalar> v = ParseConstant(json, dtype);
  return v.ok() && *v == want;
}

bool IsInteger(const Json& json, int64_t want) {
  const absl::StatusOr<int64_t> v = ParseInt64(json);
  return v.ok() && *v == want;
}

bool IsText(const Json& json, std::string_view want) {
  return json.is_string() && json.get_ref<const std::string&>() == want;
}

bool IsVariable(const Json& arg, Ref n) {
  const uop::VariableInfo v = uop::VariableOf(n);
  if (arg.is_null()) return v.name.empty();
  return arg.is_array() && arg.size() == 3 && IsText(arg[0], v.name) &&
         IsScalar(arg[1], v.min, n->dtype) && IsScalar(arg[2], v.max, n->dtype);
}

bool IsRange(const Json& arg, RangeArg want) {
  if (!arg.is_array() || arg.size() != 2 || !arg[1].is_string()) return false;
  const std::string type = absl::AsciiStrToLower(arg[1].get_ref<const std::string&>());
  return IsInteger(arg[0], want.axis_id) &&
         type == uop::kAxisTypeNames[static_cast<int>(want.type)];
}

// The argument of a VCONST or a GEP: a value per lane.
bool IsLanes(const Json& arg, Ref n) {
  if (!arg.is_array() || arg.size() != n->num_src) return false;
  for (int i = 0; i < n->num_src; ++i) {
    if (!HasArg(n->src(i), n->src(i)->Is(Op::kUnstack) ? Json::array({arg[i]}) : arg[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsCalled(Ref n, absl::string_view fixture_op) {
  if (!n->Is(Op::kStack)) return !fixture_op.empty() && OnlyName(n) == fixture_op;
  return fixture_op == "VECTORIZE" || (fixture_op == "VCONST" && AreAllConst(n)) ||
         (fixture_op == "CONST" && AreAllConst(n) && AreAllEqual(n)) ||
         (fixture_op == "GEP" && TakesLanesOfOne(n)) ||
         (fixture_op == "LOAD" && LoadsConsecutive(n));
}

absl::StatusOr<FixtureDType> FixtureDTypeOf(Graph& g, Ref n) {
  Ref buffer = n->Is(Op::kIndex) ? n->src(0) : n;
  if (buffer->Is(Op::kParam)) {
    const uop::ParamInfo p = uop::ParamOf(buffer);
    return FixtureDType{.scalar = n->dtype, .is_pointer = true, .elems = p.elems, .space = p.space};
  }
  KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g, n));
  int64_t lanes = 1;
  for (Ref dim : shape) {
    if (!IsIntConst(dim)) return absl::InvalidArgumentError("a value with a symbolic shape");
    lanes *= dim->IntValue();
  }
  return FixtureDType{.scalar = n->dtype, .lanes = static_cast<int>(lanes)};
}

bool HasArg(Ref n, const Json& arg) {
  switch (n->op) {
    case Op::kConst:
      return IsScalar(arg, n->arg.scalar(), n->dtype);
    case Op::kVariable:
      return IsVariable(arg, n);
    case Op::kRange:
      return IsRange(arg, n->arg.range());
    case Op::kSpecial:
      return IsText(arg, n->arg.payload().text);
    case Op::kParam: {
      const uop::ParamInfo p = uop::ParamOf(n);
      return arg.is_string() ? IsText(arg, p.name) : IsInteger(arg, p.number);
    }
    case Op::kUnstack:
      return arg.is_array() && arg.size() == 1 && IsInteger(arg[0], n->arg.integer());
    case Op::kStack:
      if (arg.is_null()) return true;  // VECTORIZE
      if (arg.is_array()) return (AreAllConst(n) || TakesLanesOfOne(n)) && IsLanes(arg, n);
      return AreAllConst(n) && AreAllEqual(n) && HasArg(n->src(0), arg);
    default:
      return arg.is_null();
  }
}

std::vector<Ref> FixtureSources(Ref n) {
  std::vector<Ref> src(n->src().begin(), n->src().end());
  if (n->Is(Op::kLoad) && src.size() == 3 && src[0]->num_src == 2) src.erase(src.begin() + 1);
  return src;
}

std::vector<Ref> NodesBelow(Ref root, Lanes lanes) {
  std::vector<Ref> found = {root};
  uop::NodeMap<bool> seen;
  seen[root] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    Ref n = found[i];
    if (lanes == Lanes::kPart && n->Is(Op::kStack)) {
      if (AreAllConst(n)) continue;
      if (LoadsConsecutive(n)) n = n->src(0);
    }
    for (Ref s : FixtureSources(n)) {
      if (seen[s]) continue;
      seen[s] = true;
      found.push_back(s);
    }
  }
  return found;
}

absl::StatusOr<symbolic::Bindings> ParseBindings(const Json& var_vals,
                                                 absl::Span<const Ref> nodes) {
  if (!var_vals.is_object()) return absl::InvalidArgumentError("var_vals is not an object");
  symbolic::Bindings bindings;
  for (const auto& [name, value] : var_vals.items()) {
    DType dtype = DType::kIndex;
    for (Ref n : nodes) {
      const bool is_named = (n->Is(Op::kVariable) || n->Is(Op::kSpecial)) &&
                            n->arg.payload().text == std::string_view(name);
      if (is_named) dtype = n->dtype;
    }
    KILN_ASSIGN_OR_RETURN(bindings.variables[name], ParseConstant(value, dtype),
                          _ << "value of " << name);
  }
  return bindings;
}

}  // namespace kiln::replay
