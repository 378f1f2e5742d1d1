#include "core/codegen/lower_reduce.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

#include "core/codegen/kernel_ranges.h"
#include "core/uop/constants.h"
#include "core/uop/walk.h"

namespace kiln::codegen::internal {
namespace {

using Nodes = absl::InlinedVector<Ref, 6>;

bool ByAxis(Ref a, Ref b) { return AxisId(a) < AxisId(b); }

// Those of `ranges` that are loops, or lanes, by axis id.
Nodes Select(absl::Span<const Ref> ranges, bool lanes) {
  Nodes out;
  for (Ref r : ranges) {
    if (IsLane(r) == lanes) out.push_back(r);
  }
  std::sort(out.begin(), out.end(), ByAxis);
  return out;
}

Ref WithReplaced(Graph& g, Ref n, const uop::NodeMap<Ref>& now) {
  Nodes src(n->src().begin(), n->src().end());
  bool changed = false;
  for (Ref& s : src) {
    Ref replaced = now.Get(s);
    changed = changed || replaced != nullptr;
    if (replaced != nullptr) s = replaced;
  }
  return changed ? g.WithSources(n, src) : n;
}

// REDUCEs that share their loops.
struct Group {
  Nodes loops, outer;
  int level = 0;
  std::vector<Ref> members;
};

// ** each group has ranges of its own **

// The groups of the kernel, in an order in which each depends only on those before it. The level of a
// REDUCE is the number of REDUCEs over loops on the longest path below it, so that no two of one
// level depend on each other.
std::vector<Group> FindGroups(Graph& g, Ref root) {
  uop::NodeMap<int> level;
  std::map<std::tuple<int, std::vector<int32_t>, std::vector<int32_t>>, Group> found;
  const auto ids = [](const Nodes& ranges) {
    std::vector<int32_t> out;
    for (Ref r : ranges) out.push_back(AxisId(r));
    return out;
  };
  for (Ref n : uop::Toposort(root)) {
    int& l = level[n];
    for (Ref s : n->src()) l = std::max(l, level.Get(s));
    if (!n->Is(Op::kReduce)) continue;
    const Nodes loops = Select(EndedRanges(n), false);
    if (loops.empty()) continue;
    const Nodes outer = Select(uop::RangesOf(g, n), false);
    l += 1;
    Group& group = found[{l, ids(loops), ids(outer)}];
    group.loops = loops;
    group.outer = outer;
    group.level = l;
    group.members.push_back(n);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  return groups;
}

// `n` with another range for the free occurrences of `from`.
Ref Renamed(Graph& g, Ref n, Ref from, Ref to) {
  uop::NodeMap<Ref> now;
  now[from] = to;
  for (Ref m : uop::Toposort(n)) {
    if (m == from || !DependsOn(g, m, from)) continue;
    if (Ref r = WithReplaced(g, m, now); r != m) now[m] = r;
  }
  Ref renamed = now.Get(n);
  return renamed != nullptr ? renamed : n;
}

// The kernel with fresh ranges for the first group that has a range which another one, too, ends;
// null if there is none.
Ref RenameOneGroup(Graph& g, Ref root) {
  uop::NodeMap<bool> taken;
  for (const Group& group : FindGroups(g, root)) {
    const bool shared =
        std::any_of(group.loops.begin(), group.loops.end(), [&](Ref r) { return taken.Get(r); });
    for (Ref r : group.loops) taken[r] = true;
    if (!shared) continue;
    int32_t next = AxisId(RangesBelow(root).back()) + 1;
    uop::NodeMap<Ref> now;
    Nodes fresh;
    for (Ref r : group.loops) fresh.push_back(g.Range(r->src(0), next++, TypeOf(r)));
    for (Ref n : group.members) {
      Ref value = n->src(0);
      Nodes src = {value};
      for (Ref r : EndedRanges(n)) {
        const auto at = std::find(group.loops.begin(), group.loops.end(), r);
        if (at == group.loops.end()) {
          src.push_back(r);
        } else {
          src.push_back(fresh[static_cast<size_t>(at - group.loops.begin())]);
          src[0] = Renamed(g, src[0], r, src.back());
        }
      }
      now[n] = g.WithSources(n, src);
    }
    for (Ref n : uop::Toposort(root)) {
      if (now.Get(n) != nullptr) continue;
      if (Ref r = WithReplaced(g, n, now); r != n) now[n] = r;
    }
    return now.Get(root);
  }
  return nullptr;
}

// ** lowering **

class Lowering {
 public:
  Lowering(Graph& g, const Accumulators& options) : g_(g), options_(options) {}

  Ref Run(Ref root) {
    for (const Group& group : FindGroups(g_, root)) {
      // The members are of one level: what is below them is lowered when the first one is.
      Rebuild(group.members);
      LowerGroup(group);
    }
    Rebuild(absl::MakeConstSpan(&root, 1));
    return CloseLoops(Now(root));
  }

 private:
  Ref Now(Ref n) const {
    Ref r = now_.Get(n);
    return r != nullptr ? r : n;
  }

  // Replaces what is below `roots`, without them. Pre: the REDUCEs over loops among it were lowered.
  void Rebuild(absl::Span<const Ref> roots) {
    for (Ref n : uop::Toposort(roots)) {
      if (done_.Get(n)) continue;
      const bool pending = n->Is(Op::kReduce) && !Select(EndedRanges(n), false).empty();
      if (pending) continue;
      done_[n] = true;
      Ref r = n->Is(Op::kReduce) ? LanesOnly(n) : WithReplaced(g_, n, now_);
      if (r != n) now_[n] = r;
    }
  }

  static bool IsNarrow(DType d) { return dtype::IsFloat(d) && dtype::SizeBits(d) < 32; }

  Ref LanesOnly(Ref n) {
    const Operand operand = OperandOf(n);
    return Horizontal(n, operand.value, operand.lanes);
  }

  // What a REDUCE reduces, in the dtype in which it does, and which lanes of it.
  struct Operand {
    Ref value;
    Nodes lanes;
  };
  Operand OperandOf(Ref n) {
    Operand operand = {Widened(Now(n->src(0))), {}};
    int64_t copies = 1;
    for (Ref lane : Select(EndedRanges(n), true)) {
      if (DependsOn(g_, operand.value, lane)) {
        operand.lanes.push_back(lane);
      } else {
        copies *= ConstEnd(lane);
      }
    }
    operand.value = Repeated(n->arg.reduce().op, operand.value, copies);
    return operand;
  }

  // value op value op ..., `count` times, by squaring.
  Ref Repeated(Op by, Ref value, int64_t count) {
    if (by == Op::kMax) return value;
    Ref result = nullptr;
    for (; count > 0; count /= 2) {
      if (count % 2 == 1) result = result == nullptr ? value : g_.Binary(by, result, value);
      value = g_.Binary(by, value, value);
    }
    return result;
  }

  Ref Widened(Ref value) {
    return IsNarrow(value->dtype) ? g_.Cast(value, DType::kFloat32) : value;
  }

  // The REDUCE of `n` over lanes, in the dtype of `n`.
  Ref Horizontal(Ref n, Ref value, const Nodes& lanes) {
    if (!lanes.empty()) {
      Nodes src = {value};
      src.insert(src.end(), lanes.begin(), lanes.end());
      value = g_.Make(Op::kReduce, value->dtype, src, n->arg, n->tag);
    }
    return value->dtype == n->dtype ? value : g_.Cast(value, n->dtype);
  }

  Ref After(Ref param, std::initializer_list<Ref> effects, const Nodes& ranges) {
    Nodes src = {param};
    src.insert(src.end(), effects.begin(), effects.end());
    src.insert(src.end(), ranges.begin(), ranges.end());
    return src.size() == 1 ? param : g_.Make(Op::kAfter, param->dtype, src);
  }
  Ref Place(Ref memory, Ref element) {
    return g_.Make(Op::kIndex, memory->dtype, {memory, element});
  }
  Ref Store(Ref place, Ref value) { return g_.Make(Op::kStore, DType::kVoid, {place, value}); }
  Ref Load(Ref place) { return g_.Make(Op::kLoad, place->dtype, {place}); }
  Ref End(absl::Span<const Ref> effects, Ref range) {
    Nodes src(effects.begin(), effects.end());
    src.push_back(range);
    return g_.Make(Op::kEnd, DType::kVoid, src);
  }

  // An accumulator of the lowering.
  struct Accumulator {
    Ref reduce, param, element;
    Nodes reduced_lanes;
  };

  Accumulator NewAccumulator(Ref n, const Operand& operand) {
    Ref value = operand.value;
    Nodes lanes = Select(uop::RangesOf(g_, value), true);
    // Row-major, the machine vector last.
    const int32_t last = options_.vector_axis;
    std::sort(lanes.begin(), lanes.end(), [last](Ref a, Ref b) {
      return std::pair(AxisId(a) == last, AxisId(a)) < std::pair(AxisId(b) == last, AxisId(b));
    });
    int64_t elems = 1;
    Ref element = g_.Index(0);
    for (auto it = lanes.rbegin(); it != lanes.rend(); ++it) {
      Ref term = elems == 1 ? *it : g_.Mul(*it, g_.Index(elems));
      element = elems == 1 && it == lanes.rbegin() ? term : g_.Add(term, element);
      elems *= ConstEnd(*it);
    }
    const std::string name = absl::StrCat("acc", count_);
    Ref param = g_.Param(value->dtype, name, options_.first_number + count_, elems,
                         uop::AddressSpace::kRegister);
    ++count_;
    return {n, param, element, operand.lanes};
  }

  void LowerGroup(const Group& group) {
    std::vector<Accumulator> accumulators;
    std::vector<Ref> updates;
    for (Ref n : group.members) {
      const Operand operand = OperandOf(n);
      Ref value = operand.value;
      const Accumulator a = NewAccumulator(n, operand);
      const Op by = n->arg.reduce().op;
      Ref identity = ReduceIdentity(g_, by, value->dtype);
      Ref init = Store(Place(After(a.param, {}, group.outer), a.element), identity);
      Ref place = Place(After(a.param, {init}, group.loops), a.element);
      updates.push_back(Store(place, g_.Binary(by, Load(place), value)));
      accumulators.push_back(a);
    }
    std::vector<Ref> effects = updates;
    for (auto r = group.loops.rbegin(); r != group.loops.rend(); ++r) effects = {End(effects, *r)};
    for (const Accumulator& a : accumulators) {
      Ref total = Load(Place(After(a.param, {effects[0]}, {}), a.element));
      now_[a.reduce] = Horizontal(a.reduce, total, a.reduced_lanes);
      done_[a.reduce] = true;
    }
  }

  // SINK(STORE(.., ranges...)...) -> SINK(END(..)...), the innermost loop first.
  Ref CloseLoops(Ref root) {
    const Nodes stores =
        root->Is(Op::kSink) ? Nodes(root->src().begin(), root->src().end()) : Nodes{root};
    struct Open {
      Ref effect;
      Nodes ranges;
    };
    std::vector<Open> open;
    Nodes all;
    for (Ref store : stores) {
      const Nodes ranges = Select(EndedRanges(store), false);
      for (Ref r : ranges) {
        if (std::find(all.begin(), all.end(), r) == all.end()) all.push_back(r);
      }
      open.push_back({WithoutRanges(store, ranges), ranges});
    }
    std::sort(all.begin(), all.end(), ByAxis);
    for (auto r = all.rbegin(); r != all.rend(); ++r) {
      std::vector<Open> next;
      Nodes ended, rest;
      for (Open& o : open) {
        if (o.ranges.empty() || o.ranges.back() != *r) {
          next.push_back(o);
          continue;
        }
        o.ranges.pop_back();
        ended.push_back(o.effect);
        for (Ref outer : o.ranges) {
          if (std::find(rest.begin(), rest.end(), outer) == rest.end()) rest.push_back(outer);
        }
      }
      std::sort(rest.begin(), rest.end(), ByAxis);
      next.push_back({End(ended, *r), rest});
      open = std::move(next);
    }
    Nodes effects;
    for (const Open& o : open) effects.push_back(o.effect);
    return g_.Make(Op::kSink, DType::kVoid, effects);
  }

  Ref WithoutRanges(Ref store, const Nodes& loops) {
    if (!store->Is(Op::kStore)) return store;
    Ref bare = WithEndedRanges(g_, store, {});
    Nodes missing;
    for (Ref r : loops) {
      if (!DependsOn(g_, bare, r)) missing.push_back(r);
    }
    if (missing.empty()) return bare;
    Ref place = bare->src(0);
    Nodes place_src(place->src().begin(), place->src().end());
    place_src[0] = After(place_src[0], {}, missing);
    Nodes src(bare->src().begin(), bare->src().end());
    src[0] = g_.WithSources(place, place_src);
    return g_.WithSources(bare, src);
  }

  Graph& g_;
  const Accumulators& options_;
  uop::NodeMap<Ref> now_;
  uop::NodeMap<bool> done_;
  int64_t count_ = 0;
};

}  // namespace

Ref LowerReductions(Graph& g, Ref root, const Accumulators& accumulators) {
  while (Ref renamed = RenameOneGroup(g, root)) root = renamed;
  return Lowering(g, accumulators).Run(root);
}

}  // namespace kiln::codegen::internal
