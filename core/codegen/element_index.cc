#include "core/codegen/element_index.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/dtype/status.h"
#include "core/symbolic/bounds_under.h"
#include "core/uop/node_map.h"

namespace kiln::codegen::internal {
namespace {

// Whether the op means the same on dtype index, if its result fits.
bool IsArithmetic(Ref n) {
  const bool by_constant = n->num_src == 2 && n->src(1)->IsConst() && n->src(1)->IntValue() != 0;
  return n->Is(Op::kAdd) || n->Is(Op::kMul) || n->Is(Op::kMax) ||
         ((n->Is(Op::kIDiv) || n->Is(Op::kMod)) && by_constant);
}

// `root` and the arithmetic below it, sources first, down to what is not arithmetic.
std::vector<Ref> Arithmetic(Ref root) {
  std::vector<Ref> found = {root};
  uop::NodeMap<bool> seen;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!IsArithmetic(found[i])) continue;
    for (Ref s : found[i]->src()) {
      if (!seen.Get(s)) found.push_back(s);
      seen[s] = true;
    }
  }
  std::sort(found.begin(), found.end(), [](Ref a, Ref b) { return a->id < b->id; });
  return found;
}

absl::StatusOr<bool> FitsUnder(Graph& g, Ref n, Ref gate, DType d) {
  KILN_ASSIGN_OR_RETURN(const std::optional<Bounds> b, symbolic::BoundsUnder(g, n, gate));
  return !b.has_value() || uop::FullBounds(d).Contains(*b);
}

}  // namespace

absl::StatusOr<Ref> WithElementOfIndexDType(Graph& g, Ref place) {
  Ref element = place->src(1);
  if (element->dtype != DType::kInt64) return nullptr;
  Ref gate = place->num_src > 2 ? place->src(2) : nullptr;
  uop::NodeMap<Ref> lifted;
  for (Ref n : Arithmetic(element)) {
    if (n->IsConst()) {
      lifted[n] = g.Index(n->IntValue());
    } else if (IsArithmetic(n)) {
      lifted[n] = g.Binary(n->op, lifted.Get(n->src(0)), lifted.Get(n->src(1)));
      KILN_ASSIGN_OR_RETURN(const bool exact, FitsUnder(g, lifted.Get(n), gate, DType::kInt64));
      if (!exact) return nullptr;
    } else {
      lifted[n] = g.Cast(n, DType::kIndex);
    }
  }
  KILN_ASSIGN_OR_RETURN(const bool narrow, FitsUnder(g, lifted.Get(element), gate, DType::kInt32));
  if (!narrow) return nullptr;
  std::vector<Ref> src(place->src().begin(), place->src().end());
  src[1] = lifted.Get(element);
  return g.WithSources(place, src);
}

}  // namespace kiln::codegen::internal
