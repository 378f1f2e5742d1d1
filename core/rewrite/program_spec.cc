#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/rewrite/form_checks.h"
#include "core/rewrite/specs.h"
#include "core/uop/node_map.h"
#include "core/uop/text.h"

namespace kiln::rewrite {
namespace {

using namespace alphabet;  // NOLINT(google-build-using-namespace): forms are written in its words.
using namespace internal;  // NOLINT(google-build-using-namespace): and in these checks.

bool IsMachineInteger(DType d) { return d == DType::kInt32 || d == DType::kInt64; }

bool IsMachineConstant(Graph&, const Match& m) { return m.root()->dtype != DType::kIndex; }
bool IsMachineCounter(Graph& g, const Match& m) {
  return IsMachineInteger(m.root()->dtype) && KeepsDType(g, m);
}
bool IsNamedMachineCounter(Graph& g, const Match& m) {
  return IsMachineCounter(g, m) && IsNamed(g, m);
}
bool IsLaneNode(Ref n) {
  if (!n->Is(Op::kRange)) return false;
  const AxisType type = n->arg.range().type;
  return type == AxisType::kUpcast || type == AxisType::kUnroll;
}
bool IsLoopCounter(Graph& g, const Match& m) {
  const AxisType type = m.root()->arg.range().type;
  return IsMachineCounter(g, m) && (type == AxisType::kLoop || type == AxisType::kReduce);
}
bool IsLaneCounter(Graph& g, const Match& m) {
  Ref end = m.root()->src(0);
  return IsMachineCounter(g, m) && IsLaneNode(m.root()) && end->IntValue() > 0;
}
bool ReducesLanes(Graph& g, const Match& m) {
  const absl::Span<const Ref> lanes = m.root()->src().subspan(1);
  return ReducesItsDType(g, m) && !lanes.empty() &&
         std::all_of(lanes.begin(), lanes.end(), IsLaneNode);
}
bool IsMachineVariable(Graph& g, const Match& m) {
  return IsMachineInteger(m.root()->dtype) && IsNamedVariable(g, m);
}
bool IsMachinePlace(Graph& g, const Match& m) {
  return IsMachineInteger(m[y]->dtype) && IsPlaceInParam(g, m);
}

constexpr auto kForms = forms(
    // ** values **
    allow(kElementwise, MachineOperandsFit, KILN_ELEMENTWISE_TEXT ", none of them index"),
    allow(op<Op::kReduce>(x, every(op<Op::kRange>(y))), ReducesLanes,
          "reduce{add, mul or max}(x, lane ranges...), of x's dtype, which has the operation"),
    // ** leaves **
    allow(op<Op::kConst>(), IsMachineConstant, "const, of any dtype but index"),
    allow(op<Op::kVariable>(), IsMachineVariable,
          "a named variable of dtype int32 or int64 with min <= max"),
    allow(op<Op::kRange>(x), IsLoopCounter,
          "range{axis, loop or reduce}(end), both of dtype int32 or both int64"),
    allow(op<Op::kRange>(c0), IsLaneCounter,
          "range{axis, upcast or unroll}(constant end), both of dtype int32 or both int64"),
    allow(op<Op::kSpecial>(x), IsNamedMachineCounter,
          "special{name}(end), both of dtype int32 or both int64"),
    // ** memory **
    allow(op<Op::kIndex>(x, y), IsMachinePlace,
          "index(param, element index), of the param's dtype (the param may come after effects), "
          "with an element index of dtype int32 or int64"),
    allow(op<Op::kIndex>(x, y, p), IsMachinePlace,
          "index(param, element index, gate), as without the gate, which is bool"),
    allow(op<Op::kLinear>(rest), "linear(instructions...)"));

constexpr FormTable kProgramForms = MakeForms<kForms>();

template <typename... Parts>
absl::Status Illegal(Ref n, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("node ", n->id, ", ", uop::Excerpt(n),
                                                 ", is not legal at program level: ", parts...));
}

// Each loop ends, once.
absl::Status CheckLoopsEnd(absl::Span<const Ref> nodes) {
  uop::NodeMap<bool> ended;
  for (Ref n : nodes) {
    if (!n->Is(Op::kEnd)) continue;
    bool& is_ended = ended[n->src().back()];
    if (is_ended) return Illegal(n, "its loop ends elsewhere too");
    is_ended = true;
  }
  for (Ref n : nodes) {
    if (n->Is(Op::kRange) && !IsLaneNode(n) && !ended.Get(n)) {
      return Illegal(n, "no end ends this loop");
    }
  }
  return absl::OkStatus();
}

// A list of instructions: each once and after its sources, none of which is in a loop that has ended;
// the innermost open loop ends first.
absl::Status CheckOrder(Ref linear) {
  uop::NodeMap<bool> listed, closed;
  uop::NodeMap<Ref> home;  // The loop that a node is in.
  std::vector<Ref> open = {nullptr};
  const auto has_place = [](Ref n) {
    return !n->IsConst() && !n->Is(Op::kParam) && !IsLaneNode(n);
  };
  for (Ref n : linear->src()) {
    if (!has_place(n) || listed.Get(n)) return Illegal(n, "it is listed twice, or must not be");
    for (Ref s : n->src()) {
      if (has_place(s) && !listed.Get(s)) return Illegal(n, "it is listed before a source");
      Ref loop = home.Get(s);
      if (loop != nullptr && closed.Get(loop))
        return Illegal(n, "a source is in a loop that ended");
    }
    if (n->Is(Op::kEnd)) {
      if (open.back() != n->src().back()) return Illegal(n, "an inner loop has not ended");
      closed[open.back()] = true;
      open.pop_back();
    }
    home[n] = open.back();
    if (n->Is(Op::kRange)) open.push_back(n);
    listed[n] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckProgram(Graph&, absl::Span<const Ref> nodes) {
  if (absl::Status status = CheckNumbering(nodes, "program"); !status.ok()) return status;
  if (absl::Status status = CheckLoopsEnd(nodes); !status.ok()) return status;
  for (Ref n : nodes) {
    if (!n->Is(Op::kLinear)) continue;
    if (absl::Status status = CheckOrder(n); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

constexpr Spec kProgramSpec = {
    .level = "program", .tables = {&kProgramForms, &kMemoryForms}, .whole = &CheckProgram};

}  // namespace kiln::rewrite
