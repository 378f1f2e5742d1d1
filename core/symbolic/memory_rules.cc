// Loads and stores whose gate is decided, and effects that do nothing.

#include <vector>

#include "core/symbolic/rule_sets.h"
#include "core/symbolic/validity.h"
#include "core/uop/constants.h"

namespace kiln::symbolic {
namespace {

using namespace rewrite;  // NOLINT(google-build-using-namespace): rules are written in its words.
using namespace rewrite::alphabet;

bool IsNever(Ref place) {
  return place->op == Op::kIndex && place->num_src == 3 && IsIntConst(place->src(2), 0);
}

// A load that is gated off is its alternative; 0 if it names none.
Ref LoadGatedOff(Graph& g, const Match& m) {
  Ref load = m.root();
  if (!IsNever(load->src(0))) return nullptr;
  if (load->num_src >= 2 && load->src(1)->dtype == load->dtype) return load->src(1);
  return ZeroOf(g, load->dtype);
}

// An index that is only used where the gate holds is simplified under it; a gate that always holds
// is dropped.
Ref SimplifyUnderGate(Graph& g, const Match& m) {
  Ref place = m.root();
  Ref gate = place->src(2);
  if (IsIntConst(gate, 1))
    return g.Make(Op::kIndex, place->dtype, {place->src(0), place->src(1)}, place->arg, place->tag);
  if (gate->IsConst()) return nullptr;
  absl::StatusOr<Ref> index = SimplifyGiven(g, place->src(1), gate);
  if (!index.ok()) return m.Fail(index.status());
  if (*index == nullptr) return g.WithSources(place, {place->src(0), place->src(1), g.Bool(false)});
  return g.WithSources(place, {place->src(0), *index, gate});
}

// Effects in a list that can't happen.
Ref DropDeadStores(Graph& g, const Match& m) {
  std::vector<Ref> live;
  for (Ref s : m.root()->src()) {
    if (s->op == Op::kStore && IsNever(s->src(0))) continue;
    live.push_back(s);
  }
  return live.size() == m.root()->num_src ? nullptr : g.WithSources(m.root(), live);
}

// clang-format off
constexpr auto kMemory = rules(
    rule(op<Op::kIndex>(x, y, p), SimplifyUnderGate).grows("the index comes in normal form"),
    rule(op<Op::kLoad>(op<Op::kIndex>(x, y, false), rest), LoadGatedOff),
    rule(op<Op::kSink>(rest), DropDeadStores));
// clang-format on

}  // namespace

constexpr RuleTable kMemoryRules = MakeTable<kMemory, Domain::kAny>("memory");

}  // namespace kiln::symbolic
