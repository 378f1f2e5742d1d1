#include "core/symbolic/lower_index.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

#include "core/symbolic/condition_bounds.h"
#include "core/symbolic/render.h"
#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::symbolic {
namespace {

using Sources = absl::InlinedVector<Ref, 4>;

constexpr Bounds kInt64 = uop::FullBounds(DType::kInt64);

bool IsIndex(Ref n) { return n->dtype == DType::kIndex; }

// The machine dtype of values within all of `all`; null if there is none.
std::optional<DType> Width(absl::Span<const Bounds> all) {
  for (DType d : {DType::kInt32, DType::kInt64}) {
    if (std::all_of(all.begin(), all.end(),
                    [d](const Bounds& b) { return uop::FullBounds(d).Contains(b); })) {
      return d;
    }
  }
  return std::nullopt;
}

Ref CastTo(Graph& g, Ref n, DType d) {
  if (n->dtype == d) return n;
  return IsIntConst(n) ? g.Int(d, n->IntValue()) : g.Cast(n, d);
}

// NOLINTBEGIN(misc-no-recursion): a scope inside another one has none inside it.

// Lowers expressions under an assumption about some of their nodes. The outermost scope makes none
// and lowers the whole graph; a scope inside it lowers the element index of accesses under one
// gate, again. Confined to one LowerIndex.
class Scope {
 public:
  Scope(Graph& g, const Scope* outer, absl::Span<const BoundedNode> known) : g_(g), outer_(outer) {
    for (const BoundedNode& k : known) shadow_[k.node] = Stand(k.node, k.bounds);
  }

  // Pre: its sources were added, or it is not an elementwise op and this is an inner scope.
  void Add(Ref n) {
    if (added_.Get(n)) return;
    added_[n] = true;
    if (HasBounds(n)) AddShadow(n);
    if (outer_ != nullptr && !DependsOnScope(n)) {
      lowered_[n] = outer_->Lowered(n);
      culprit_[n] = outer_->Culprit(n);
    } else {
      lowered_[n] = Lower(n);
    }
  }

  // Null if bounds do not fit; then those of the culprit. Pre: added.
  Ref Lowered(Ref n) const { return lowered_.Get(n); }
  Ref Culprit(Ref n) const { return culprit_.Get(n); }
  Bounds BoundsIn(Ref n) const { return BoundsOf(g_, ShadowOf(n)); }

 private:
  static bool HasBounds(Ref n) { return n->dtype == DType::kBool || dtype::IsInteger(n->dtype); }

  // Of what an inner scope does not go into, it takes what the outer one made of it. What
  // elementwise machine arithmetic computes does not change by assumptions.
  bool DependsOnScope(Ref n) const {
    return uop::IsAlu(n->op) && (IsIndex(n) || outer_->Lowered(n) == nullptr);
  }

  // ** bounds **

  // A node has the bounds of its shadow: the same expression with stand-ins, variables that have
  // the bounds which the scope knows, for some of its nodes.
  Ref ShadowOf(Ref n) const {
    const Ref shadow = shadow_.Get(n);
    return shadow == nullptr ? n : shadow;
  }

  // Named so that no variable of the graph is taken for it.
  Ref Stand(Ref n, Bounds b) {
    const Bounds all = IsIndex(n) ? kInt64 : uop::FullBounds(n->dtype);
    const auto end = [&all](Int128 v) {
      return Scalar::FromBits(static_cast<uint64_t>(std::clamp(v, all.lo, all.hi)));
    };
    return g_.Variable(n->dtype, absl::StrCat("\x01", n->id), end(b.lo), end(b.hi));
  }

  void AddShadow(Ref n) {
    if (shadow_.Get(n) != nullptr) return;
    if (uop::IsAlu(n->op)) {
      Sources src(n->src().begin(), n->src().end());
      bool changed = false;
      for (Ref& s : src) {
        const Ref shadow = ShadowOf(s);
        changed = changed || shadow != s;
        s = shadow;
      }
      if (changed) shadow_[n] = g_.WithSources(n, src);
    }
    if (IsIndex(n) && n->op == Op::kCast && !IsIndex(n->src(0))) AddCastShadow(n);
  }

  // What a cast makes an index is what the machine computed, wrapped or not, and is taken to fit
  // int64.
  void AddCastShadow(Ref n) {
    const Ref shadow = ShadowOf(n), x = shadow->src(0);
    Bounds b = BoundsOf(g_, shadow);
    if (!dtype::IsFloat(x->dtype)) {
      const Bounds computed = SafeBoundsOf(g_, x), all = uop::FullBounds(x->dtype);
      b = {std::max(computed.lo, all.lo), std::min(computed.hi, all.hi)};
    }
    if (b != BoundsOf(g_, shadow) || !kInt64.Contains(b)) shadow_[n] = Stand(n, b);
  }

  // ** nodes **

  // Null, with a culprit, if a source or the node itself has bounds that do not fit.
  Ref Lower(Ref n) {
    const bool is_place = n->op == Op::kIndex;
    for (int i = 0; i < n->num_src; ++i) {
      if (is_place && i == 1) continue;
      if (Lowered(n->src(i)) == nullptr) return Fail(n, Culprit(n->src(i)));
    }
    if (is_place) return LowerPlace(n);
    if (IsIndex(n)) return LowerValue(n);
    if (n->op == Op::kCast && IsIndex(n->src(0))) return CastTo(g_, Lowered(n->src(0)), n->dtype);
    if (uop::IsComparison(n->op) && IsIndex(n->src(0))) {
      const Ref x = Lowered(n->src(0)), y = Lowered(n->src(1));
      return WithOperandsOf(n, n->dtype, std::max(x->dtype, y->dtype));
    }
    return WithOperandsOf(n, n->dtype, std::nullopt);
  }

  Ref Fail(Ref n, Ref culprit) {
    culprit_[n] = culprit;
    return nullptr;
  }

  // `n` of dtype `d` on lowered sources, those that were an index cast to `operands` if given.
  Ref WithOperandsOf(Ref n, DType d, std::optional<DType> operands) {
    Sources src;
    for (Ref s : n->src()) {
      const Ref lowered = Lowered(s);
      src.push_back(operands.has_value() && IsIndex(s) ? CastTo(g_, lowered, *operands) : lowered);
    }
    return g_.Make(n->op, d, src, n->arg, n->tag);
  }

  Ref LowerValue(Ref n) {
    // The value of these is that of a source, which has its dtype already.
    const bool forwards = n->op == Op::kBind || n->op == Op::kUnstack || n->op == Op::kAfter;
    if (forwards) {
      const DType d = Lowered(n->src(0))->dtype;
      return WithOperandsOf(n, d, n->op == Op::kBind ? std::optional(d) : std::nullopt);
    }
    absl::InlinedVector<Bounds, 4> bounds = {BoundsIn(n)};
    for (Ref s : n->src()) {
      if (IsIndex(s)) bounds.push_back(BoundsIn(s));
    }
    const std::optional<DType> width = Width(bounds);
    if (!width.has_value()) return Fail(n, n);
    switch (n->op) {
      case Op::kConst:
        return g_.Int(*width, n->IntValue());
      case Op::kVariable: {
        const uop::VariableInfo v = uop::VariableOf(n);
        return g_.Variable(*width, v.name, v.min, v.max);
      }
      case Op::kCast:
        return CastTo(g_, Lowered(n->src(0)), *width);
      default:
        return WithOperandsOf(n, *width, width);
    }
  }

  // ** places **

  Ref LowerPlace(Ref n) {
    Ref element = Lowered(n->src(1));
    Ref culprit = Culprit(n->src(1));
    const bool may_be_narrower = element == nullptr || element->dtype == DType::kInt64;
    if (outer_ == nullptr && n->num_src > 2 && IsIndex(n->src(1)) && may_be_narrower) {
      const Ref narrower = LowerUnderGate(n->src(1), n->src(2));
      if (narrower != nullptr) element = narrower;
    }
    if (element == nullptr) return Fail(n, culprit);
    Sources src = {Lowered(n->src(0)), element};
    if (n->num_src > 2) src.push_back(Lowered(n->src(2)));
    return g_.Make(n->op, n->dtype, src, n->arg, n->tag);
  }

  Ref LowerUnderGate(Ref element, Ref gate) {
    int& index = gate_index_[gate];
    if (index == 0) {
      gates_.emplace_back();
      index = static_cast<int>(gates_.size());
      const std::optional<std::vector<BoundedNode>> known = BoundsGiven(g_, gate);
      // Nobody ever reads through a gate that is never open.
      if (!known.has_value()) gates_.back().is_closed = true;
      if (known.has_value() && !known->empty()) {
        gates_.back().scope = std::make_unique<Scope>(g_, this, *known);
      }
    }
    const Gate& found = gates_[static_cast<size_t>(index) - 1];
    if (found.is_closed) return g_.Int(DType::kInt32, 0);
    if (found.scope == nullptr) return nullptr;
    found.scope->AddElementwise(element);
    return found.scope->Lowered(element);
  }

  // Adds `root` and what it is made of by elementwise ops.
  void AddElementwise(Ref root) {
    std::vector<Ref> found = {root};
    uop::NodeMap<bool> seen;
    seen[root] = true;
    for (size_t i = 0; i < found.size(); ++i) {
      const Ref n = found[i];
      if (!uop::IsAlu(n->op) || added_.Get(n)) continue;
      for (Ref s : n->src()) {
        if (!seen.Get(s)) found.push_back(s);
        seen[s] = true;
      }
    }
    std::sort(found.begin(), found.end(), [](Ref a, Ref b) { return a->id < b->id; });
    for (Ref n : found) Add(n);
  }

  // What is known where a gate is open.
  struct Gate {
    bool is_closed = false;
    std::unique_ptr<Scope> scope;  // Null if nothing is known.
  };

  Graph& g_;
  const Scope* const outer_;
  uop::NodeMap<bool> added_;
  uop::NodeMap<Ref> shadow_;
  uop::NodeMap<Ref> lowered_;
  uop::NodeMap<Ref> culprit_;
  uop::NodeMap<int> gate_index_;  // In gates_, from 1.
  std::vector<Gate> gates_;
};

// NOLINTEND(misc-no-recursion)

std::string Text(Int128 v) {
  if (v <= Bounds::kNegInf) return "-inf";
  return v >= Bounds::kPosInf ? "inf" : ToString(v);
}

}  // namespace

absl::StatusOr<Ref> LowerIndex(Graph& g, Ref n) {
  Scope scope(g, nullptr, {});
  for (Ref m : uop::Toposort(n)) scope.Add(m);
  if (Ref lowered = scope.Lowered(n); lowered != nullptr) return lowered;
  const Ref culprit = scope.Culprit(n);
  const Bounds b = scope.BoundsIn(culprit);
  return absl::InvalidArgumentError(absl::StrCat("index ", Render(culprit, 200), " is in [",
                                                 Text(b.lo), ", ", Text(b.hi),
                                                 "], which does not fit int64"));
}

}  // namespace kiln::symbolic
