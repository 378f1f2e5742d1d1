#include "core/codegen/access.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/symbolic/bounds_under.h"
#include "core/uop/node_map.h"
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

absl::Status CheckAccess(Graph& g, Ref access, Ref condition) {
  Ref place = access->src(0);
  while (place->Is(Op::kAfter)) place = place->src(0);
  if (!place->Is(Op::kIndex)) return Bad(access, "does not say where: it needs an INDEX");
  Ref memory = MemoryOf(place->src(0));
  if (memory == nullptr) return Bad(access, "is not in a PARAM, so its size is not known");
  if (place->num_src > 2) condition = Conjunction(g, condition, place->src(2));
  if (access->Is(Op::kStore)) {
    for (Ref gate : access->src().subspan(2)) {
      if (gate->dtype == DType::kBool) condition = Conjunction(g, condition, gate);
    }
  }
  Ref index = place->src(1);
  if (!dtype::IsInteger(index->dtype))
    return Bad(access, "has an element index that is no integer");
  KILN_ASSIGN_OR_RETURN(const std::optional<Bounds> bounds, BoundsUnder(g, index, condition));
  if (!bounds.has_value()) return absl::OkStatus();  // Never happens.
  const uop::ParamInfo param = uop::ParamOf(memory);
  const bool inside = bounds->lo >= 0 && (param.elems < 0 || bounds->hi < param.elems);
  if (inside) return absl::OkStatus();
  const std::string name = param.name.empty()
                               ? absl::StrCat("buffer ", param.number)
                               : absl::StrCat("buffer \"", std::string(param.name), "\"");
  return Bad(
      access,
      absl::StrCat("has an index in [", Text(bounds->lo), ", ", Text(bounds->hi), "], ", name,
                   " has ", param.elems < 0 ? "an unknown number of" : absl::StrCat(param.elems),
                   " elements"));
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

}  // namespace kiln::codegen
