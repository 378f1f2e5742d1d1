#include "core/codegen/gate_loads.h"

#include "core/rewrite/driver.h"
#include "core/symbolic/bounds_under.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

bool IsOfIndices(Ref condition) {
  return uop::Visit(condition, [](Ref n) { return !n->Is(Op::kLoad) && !n->Is(Op::kReduce); });
}

// `load` where p holds, and `other` elsewhere; null if it cannot be.
Ref Gated(Graph& g, Ref p, Ref load, Ref other) {
  if (!load->Is(Op::kLoad) || load->num_src > 2 || !other->IsConst() || !IsOfIndices(p)) {
    return nullptr;
  }
  Ref place = load->src(0);
  if (!place->Is(Op::kIndex)) return nullptr;
  Ref gate = place->num_src > 2 ? place->src(2) : nullptr;
  if (gate != nullptr && (load->num_src < 2 || load->src(1) != other)) return nullptr;
  Ref gated = g.Make(Op::kIndex, place->dtype,
                     {place->src(0), place->src(1), symbolic::Conjunction(g, gate, p)});
  return g.Make(Op::kLoad, load->dtype, {gated, other});
}

Ref GateIfTrue(Graph& g, const Match& m) { return Gated(g, m[p], m[x], m[y]); }
Ref GateIfFalse(Graph& g, const Match& m) { return Gated(g, g.Not(m[p]), m[y], m[x]); }

constexpr auto kGated = rules(rule(where(p, x, y), GateIfTrue),
                              rule(where(p, x, y), GateIfFalse).grows("a negation, once"));
constexpr RuleTable kGatedRules = MakeTable<kGated, Domain::kAny>("gated loads");

}  // namespace

absl::StatusOr<Ref> GateLoads(Graph& g, Ref root) {
  return Rewrite(g, root, {.name = "gate loads", .rules = kGatedRules});
}

}  // namespace kiln::codegen::internal
