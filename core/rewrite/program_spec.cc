#include <string>

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
bool IsLoopCounter(Graph& g, const Match& m) {
  const AxisType type = m.root()->arg.range().type;
  return IsMachineCounter(g, m) && (type == AxisType::kLoop || type == AxisType::kReduce);
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
    // ** leaves **
    allow(op<Op::kConst>(), IsMachineConstant, "const, of any dtype but index"),
    allow(op<Op::kVariable>(), IsMachineVariable,
          "a named variable of dtype int32 or int64 with min <= max"),
    allow(op<Op::kRange>(x), IsLoopCounter,
          "range{axis, loop or reduce}(end), both of dtype int32 or both int64"),
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

absl::Status CheckProgram(Graph&, absl::Span<const Ref> nodes) {
  if (absl::Status status = CheckNumbering(nodes, "program"); !status.ok()) return status;
  uop::NodeMap<bool> ended;
  for (Ref n : nodes) {
    if (n->op != Op::kEnd && n->op != Op::kStore) continue;
    for (Ref s : n->src()) {
      if (s->op == Op::kRange) ended[s] = true;
    }
  }
  for (Ref n : nodes) {
    if (n->op != Op::kRange || ended.Get(n)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("node ", n->id, ", ", uop::Excerpt(n),
                     ", is not legal at program level: no end or store ends this loop"));
  }
  return absl::OkStatus();
}

}  // namespace

constexpr Spec kProgramSpec = {
    .level = "program", .tables = {&kProgramForms, &kMemoryForms}, .whole = &CheckProgram};

}  // namespace kiln::rewrite
