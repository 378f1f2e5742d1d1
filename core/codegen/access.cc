#include "core/codegen/access.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/symbolic/bounds_under.h"
#include "core/uop/constants.h"
#include "core/uop/node_map.h"
#include "core/uop/substitute.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::codegen {
namespace {

using symbolic::BoundsUnder;
using symbolic::Conjunction;

// For each node, the condition under which control reaches it: that of the IF blocks it depends on.
class Blocks {
 public:
  explicit Blocks(Graph& g) : g_(g) {}

  // Pre: added in order of ids.
  void Add(Ref n) {
    Ref reached = nullptr;
    for (Ref s : n->src()) reached = Conjunction(g_, reached, after_.Get(s));
    reached_[n] = reached;
    after_[n] = reached;
    if (n->Is(Op::kIf)) after_[n] = Conjunction(g_, reached, n->src(0));
    // What comes after the block is where its IF is.
    if (n->Is(Op::kEndIf) && n->src(0)->Is(Op::kIf)) after_[n] = reached_.Get(n->src(0));
  }
  // Null: always.
  Ref ConditionOf(Ref n) const { return reached_.Get(n); }

 private:
  Graph& g_;
  uop::NodeMap<Ref> reached_;
  uop::NodeMap<Ref> after_;  // Where those are that depend on the node.
};

absl::Status Bad(Ref access, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(Name(access->op)), " ", access->id,
                                                 " (", uop::Excerpt(access), ") ", what));
}

// The memory that a place is in; null if there is none.
Ref MemoryOf(Ref n) {
  while (n->Is(Op::kAfter)) n = n->src(0);
  return n->Is(Op::kParam) ? n : nullptr;
}

std::string Text(Int128 v) {
  if (v <= Bounds::kNegInf) return "-inf";
  return v >= Bounds::kPosInf ? "inf" : ToString(v);
}

// Where an access goes.
struct Reach {
  Ref place = nullptr;                         // INDEX.
  Ref memory = nullptr;                        // PARAM.
  std::optional<Bounds> index = std::nullopt;  // None: it never happens.

  int64_t elems() const { return uop::ParamOf(memory).elems; }
  bool IsProven() const {
    return !index.has_value() || (index->lo >= 0 && (elems() < 0 || index->hi < elems()));
  }
};

absl::StatusOr<Reach> ReachOf(Graph& g, Ref access, Ref condition) {
  Reach reach{.place = access->src(0)};
  while (reach.place->Is(Op::kAfter)) reach.place = reach.place->src(0);
  if (!reach.place->Is(Op::kIndex)) return Bad(access, "does not say where: it needs an INDEX");
  reach.memory = MemoryOf(reach.place->src(0));
  if (reach.memory == nullptr) return Bad(access, "is not in a PARAM, so its size is not known");
  if (reach.place->num_src > 2) condition = Conjunction(g, condition, reach.place->src(2));
  if (access->Is(Op::kStore)) {
    for (Ref gate : access->src().subspan(2)) {
      if (gate->dtype == DType::kBool) condition = Conjunction(g, condition, gate);
    }
  }
  Ref index = reach.place->src(1);
  if (!dtype::IsInteger(index->dtype)) {
    return Bad(access, "has an element index that is no integer");
  }
  KILN_ASSIGN_OR_RETURN(reach.index, BoundsUnder(g, index, condition));
  return reach;
}

absl::Status CheckAccess(Graph& g, Ref access, Ref condition) {
  KILN_ASSIGN_OR_RETURN(const Reach reach, ReachOf(g, access, condition));
  if (reach.IsProven()) return absl::OkStatus();
  const uop::ParamInfo param = uop::ParamOf(reach.memory);
  const std::string name = param.name.empty()
                               ? absl::StrCat("buffer ", param.number)
                               : absl::StrCat("buffer \"", std::string(param.name), "\"");
  return Bad(access,
             absl::StrCat("has an index in [", Text(reach.index->lo), ", ", Text(reach.index->hi),
                          "], ", name, " has ",
                          param.elems < 0 ? "an unknown number of" : absl::StrCat(param.elems),
                          " elements"));
}

// `access` with a gate for what is not proven of it; the same node if all is.
absl::StatusOr<Ref> GateAccess(Graph& g, Ref access) {
  KILN_ASSIGN_OR_RETURN(const Reach reach, ReachOf(g, access, nullptr));
  if (reach.IsProven()) return access;
  Ref place = reach.place, index = place->src(1);
  Ref gate = place->num_src > 2 ? place->src(2) : nullptr;
  // Both ends: what was proven of one may not be once more is known of the other.
  gate = Conjunction(g, gate, g.Not(g.Lt(index, g.Int(index->dtype, 0))));
  if (reach.elems() >= 0) gate = g.And(gate, g.Lt(index, g.Int(index->dtype, reach.elems())));
  Ref gated = g.Make(Op::kIndex, place->dtype, {place->src(0), index, gate});
  std::vector<Ref> src(access->src().begin(), access->src().end());
  src[0] = gated;
  if (access->Is(Op::kLoad) && src.size() == 1) src.push_back(ZeroOf(g, access->dtype));
  return g.WithSources(access, src);
}

}  // namespace

absl::Status CheckAccesses(Graph& g, Ref root) {
  Blocks blocks(g);
  for (Ref n : uop::Toposort(root)) {
    blocks.Add(n);
    if (n->Is(Op::kLoad) || n->Is(Op::kStore)) {
      KILN_RETURN_IF_ERROR(CheckAccess(g, n, blocks.ConditionOf(n)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Ref> GateAccesses(Graph& g, Ref root) {
  std::vector<uop::Replacement> gated;
  for (Ref n : uop::Toposort(root)) {
    if (!n->Is(Op::kLoad) && !n->Is(Op::kStore)) continue;
    KILN_ASSIGN_OR_RETURN(Ref with_gate, GateAccess(g, n));
    if (with_gate != n) gated.emplace_back(n, with_gate);
  }
  // Users first: an index may be loaded itself.
  std::reverse(gated.begin(), gated.end());
  for (const uop::Replacement& r : gated) root = uop::SubstituteOnce(g, root, {{r}});
  return root;
}

}  // namespace kiln::codegen
