#include "core/codegen/if_blocks.h"

#include <algorithm>
#include <vector>

#include "core/uop/node_map.h"

namespace kiln::codegen::internal {
namespace {

// What the store computes after its barriers and blocks: the nodes below its value up to those, and
// they themselves, in order of ids.
std::vector<Ref> Cone(Ref store) {
  std::vector<Ref> found;
  uop::NodeMap<bool> seen;
  const auto add = [&](Ref n) {
    if (!seen.Get(n)) found.push_back(n);
    seen[n] = true;
  };
  for (Ref s : store->src().subspan(1)) add(s);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]->dtype == DType::kVoid) continue;
    for (Ref s : found[i]->src()) add(s);
  }
  std::sort(found.begin(), found.end(), [](Ref a, Ref b) { return a->id < b->id; });
  return found;
}

Ref GateOf(Ref store) {
  Ref place = store->src(0);
  return place->Is(Op::kIndex) && place->num_src == 3 ? place->src(2) : nullptr;
}

Ref WithoutGate(Graph& g, Ref place) { return g.WithSources(place, place->src().subspan(0, 2)); }

}  // namespace

Ref StoreInBlock(Graph& g, Ref store) {
  Ref gate = GateOf(store);
  if (gate == nullptr || gate->IsConst()) return nullptr;
  uop::NodeMap<Ref> replaced;
  const auto now = [&](Ref n) {
    Ref r = replaced.Get(n);
    return r == nullptr ? n : r;
  };
  const auto rebuilt = [&](Ref n, size_t kept) {
    std::vector<Ref> src;
    for (Ref s : n->src()) src.push_back(src.size() < kept ? s : now(s));
    return g.WithSources(n, src);
  };
  bool any = false;
  for (Ref n : Cone(store)) {
    if (n->dtype == DType::kVoid) continue;
    Ref r = rebuilt(n, 0);
    Ref order = r->src().empty() ? nullptr : r->src().back();
    if (r->Is(Op::kLoad) && order->Is(Op::kBarrier)) {
      std::vector<Ref> src(r->src().begin(), r->src().end());
      src.back() = g.Make(Op::kIf, DType::kVoid, {gate, order});
      r = g.WithSources(r, src);
      any = true;
    }
    if (r != n) replaced[n] = r;
  }
  return any ? WithoutGateOfBlock(g, rebuilt(store, 1)) : nullptr;
}

Ref WithoutGateOfBlock(Graph& g, Ref store) {
  Ref gate = GateOf(store);
  if (gate == nullptr) return nullptr;
  for (Ref n : Cone(store)) {
    if (!n->Is(Op::kIf) || n->src(0) != gate) continue;
    std::vector<Ref> src(store->src().begin(), store->src().end());
    src[0] = WithoutGate(g, src[0]);
    return g.WithSources(store, src);
  }
  return nullptr;
}

}  // namespace kiln::codegen::internal
