#include "core/schedule/storage.h"

#include <algorithm>
#include <utility>

#include "core/dtype/status.h"
#include "core/schedule/place.h"
#include "core/schedule/value.h"
#include "core/uop/facts.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

// Above this many different places of one value in the kernels that compute it, it is stored.
constexpr size_t kMaxPlaces = 16;

// What a part is taken of is stored whole if it has at most so many times the elements: other parts
// are likely to be needed too.
constexpr int kWholeAtMost = 4;

// An inner reduction of so many elements is a kernel of its own.
constexpr int64_t kMinInnerWork = 32;

class Chooser {
 public:
  Chooser(Graph& g, Ref sink) : g_(g), nodes_(uop::Toposort(sink)), sink_(sink) {
    for (Ref n : nodes_) {
      has_data_[n] = n->op == Op::kInput || std::any_of(n->src().begin(), n->src().end(),
                                                        [this](Ref s) { return has_data_.Get(s); });
    }
  }

  absl::Status Choose(absl::Span<const Ref> must_store) {
    for (Ref n : must_store) Store(n);
    ForceStorage();
    for (Ref n : nodes_) forced_[n] = storage_.is_stored.Get(n);
    KILN_RETURN_IF_ERROR(StoreBeforeExpansion());
    KILN_RETURN_IF_ERROR(StoreWherePlacesDiffer());
    return DropNeedless();
  }

  Storage Take() {
    for (Ref n : nodes_) {
      if (!storage_.is_stored.Get(n)) continue;
      storage_.stored.push_back(n);
      storage_.is_read[n] = n->op == Op::kCopy || reduces_.Get(n) || has_data_.Get(n);
    }
    return std::move(storage_);
  }

 private:
  void Store(Ref n) { storage_.is_stored[n] = true; }
  bool InMemory(Ref n) { return IsState(n) || storage_.is_stored.Get(n); }
  // Memory that holds the elements of `n`, in order: it, or what it reshapes.
  void StoreElements(Ref n) {
    n = SkipReshapes(n);
    if (!IsState(n)) Store(n);
  }

  void ForceStorage() {
    for (Ref n : nodes_) {
      if (n->op == Op::kContiguous) StoreElements(n);
      if (n->op == Op::kCopy) {
        StoreElements(n->src(0));
        Store(n);
      }
    }
    for (Ref output : sink_->src()) StoreElements(output);
  }

  // ** reductions **: whether computing `n` computes a reduction that is not stored.

  absl::StatusOr<bool> ComputesReduction(Ref n) {
    if (n->op == Op::kExpand && ExpandsSomething(n)) return false;  // Its source is stored instead.
    if (n->op == Op::kReduce) {
      if (loops_.Get(n) == kUnknown) {
        KILN_ASSIGN_OR_RETURN(const bool loops, NeedsLoop(n));
        loops_[n] = loops ? kLoops : kNoLoops;
      }
      if (loops_.Get(n) == kLoops) return true;
    }
    return std::any_of(n->src().begin(), n->src().end(), [this](Ref s) { return Reduces(s); });
  }
  // Of a node that has been gone through.
  bool Reduces(Ref n) { return !InMemory(n) && reduces_.Get(n); }

  // Whether something is left to loop over when `reduce` is computed from what lies in memory.
  absl::StatusOr<bool> NeedsLoop(Ref reduce) {
    class StandIns : public Memory {
     public:
      StandIns(Graph& g, Chooser& chooser) : g_(g), chooser_(chooser) {}
      bool IsStored(Ref n) const override {
        return chooser_.InMemory(n) || chooser_.reduces_.Get(n);
      }
      Ref ParamOf(Ref state, int64_t elems) override {
        return g_.Param(state->dtype, "", state->id, elems, AddressSpace::kGlobal);
      }

     private:
      Graph& g_;
      Chooser& chooser_;
    };
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, reduce));
    if (IsEmpty(shape)) return false;
    StandIns memory(g_, *this);
    const Place place = LoopsOver(g_, shape, 0);
    Values values(g_, memory, static_cast<int32_t>(shape.size()));
    KILN_ASSIGN_OR_RETURN(Ref value, values.At(reduce, place));
    if (value == nullptr) return true;
    return !uop::Visit(value, [](Ref n) { return n->op != Op::kReduce; });
  }

  // Of `n` and what it is a movement of, what is best stored: as much as possible is left to the reader.
  Ref BestForm(Ref n) {
    Ref best = n;
    const Int128 elems = ElemsOrMax(n);
    while (uop::IsMovement(n->op) && n->op != Op::kExpand) {
      n = n->src(0);
      if (ElemsOrMax(n) <= elems * kWholeAtMost) best = n;
    }
    return best;
  }
  Int128 ElemsOrMax(Ref n) {
    const auto shape = uop::ShapeOf(g_, n);
    return shape.ok() ? MaxElems(g_, *shape).value_or(INT64_MAX) : INT64_MAX;
  }

  bool ExpandsSomething(Ref expand) {
    const auto shape = uop::ShapeOf(g_, expand->src(0));
    for (size_t axis = 0; shape.ok() && axis < shape->size(); ++axis) {
      if ((*shape)[axis] != expand->src(static_cast<int>(axis) + 1)) return true;
    }
    return false;
  }

  // Pre: its sources are up to date.
  absl::Status Update(Ref n) {
    if (uop::IsEffect(n->op)) return absl::OkStatus();
    KILN_ASSIGN_OR_RETURN(reduces_[n], ComputesReduction(n));
    return absl::OkStatus();
  }

  absl::Status StoreBeforeExpansion() {
    for (Ref n : nodes_) {
      if (uop::IsEffect(n->op)) continue;
      KILN_RETURN_IF_ERROR(Update(n));
      work_[n] = WorkOf(n);
      if (n->num_src == 0 || !Reduces(n->src(0))) continue;
      const bool repeats = n->op == Op::kExpand && ExpandsSomething(n);
      if (repeats || NestsTooMuch(n)) Store(BestForm(n->src(0)));
    }
    for (Ref n : nodes_) KILN_RETURN_IF_ERROR(Update(n));
    return absl::OkStatus();
  }

  // The most elements that one element of `n` takes in a single reduction that is not stored.
  int64_t WorkOf(Ref n) {
    if (n->op == Op::kReduce && loops_.Get(n) == kLoops) {
      const auto from = uop::ShapeOf(g_, n->src(0));
      if (!from.ok()) return INT64_MAX;
      std::vector<Ref> reduced;
      for (size_t axis = 0; axis < from->size(); ++axis) {
        if ((n->arg.reduce().axes >> axis & 1) != 0) reduced.push_back((*from)[axis]);
      }
      return MaxElems(g_, reduced).value_or(INT64_MAX);
    }
    int64_t most = 0;
    for (Ref s : n->src()) {
      if (Reduces(s)) most = std::max(most, work_.Get(s));
    }
    return most;
  }
  // A reduction of what takes a reduction: one loop nest could do both, but one that does much in its
  // inner part is better left to itself, where it can use all axes and cores. What only adds up sums
  // is one larger sum.
  bool NestsTooMuch(Ref n) {
    if (n->op != Op::kReduce || work_.Get(n->src(0)) < kMinInnerWork) return false;
    Ref s = n->src(0);
    while (uop::IsMovement(s->op)) s = s->src(0);
    return s->op != Op::kReduce || s->arg.reduce().op != n->arg.reduce().op;
  }

  // ** places **: of what computes a reduction, in all kernels. Users first.

  absl::Status StoreWherePlacesDiffer() {
    int32_t next_axis = 0;
    uop::NodeMap<uint32_t> slot;
    std::vector<std::vector<Place>> places(1);
    const auto add = [&](Ref n, Place p) {
      if (slot.Get(n) == 0) {
        slot[n] = static_cast<uint32_t>(places.size());
        places.emplace_back();
      }
      std::vector<Place>& of_n = places[slot.Get(n)];
      if (std::find(of_n.begin(), of_n.end(), p) == of_n.end()) of_n.push_back(p);
    };
    for (size_t i = nodes_.size(); i-- > 0;) {
      Ref n = nodes_[i];
      if (uop::IsEffect(n->op)) continue;
      std::vector<Place> at;
      if (slot.Get(n) != 0) at = std::move(places[slot.Get(n)]);
      const bool differs = at.size() > (uop::IsMovement(n->op) ? kMaxPlaces : 1);
      if (differs && Reduces(n)) Store(n);
      if (InMemory(n)) {
        KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
        at = {LoopsOver(g_, shape, next_axis)};
        next_axis += static_cast<int32_t>(shape.size());
      }
      for (Place p : at) KILN_RETURN_IF_ERROR(Pass(n, p, next_axis, add));
    }
    return absl::OkStatus();
  }

  // Hands `place` of `n` on to its sources.
  template <typename Add>
  absl::Status Pass(Ref n, Place place, int32_t& next_axis, Add add) {
    if (place.NeverValid()) return absl::OkStatus();
    if (n->op == Op::kAssign) {
      if (Reduces(n->src(1))) add(n->src(1), place);
      return absl::OkStatus();
    }
    if (n->op == Op::kCopy ||
        !std::any_of(n->src().begin(), n->src().end(), [this](Ref s) { return Reduces(s); })) {
      return absl::OkStatus();
    }
    if (uop::IsMovement(n->op)) {
      // One step at a time: a movement in the middle of a chain may have users of its own.
      KILN_ASSIGN_OR_RETURN(const Origin origin, OriginOf(g_, n, place, [](Ref) { return true; }));
      if (!origin.place.NeverValid()) add(n->src(0), origin.place);
      return absl::OkStatus();
    }
    if (n->op == Op::kReduce) {
      KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n->src(0)));
      place = ReducedPlace(g_, shape, n->arg.reduce().axes, place, next_axis);
    }
    if (n->op == Op::kBitcast && dtype::SizeBytes(n->dtype) != dtype::SizeBytes(n->src(0)->dtype)) {
      // Bytes of several elements or parts of one: never the same places.
      KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n->src(0)));
      place = LoopsOver(g_, shape, next_axis);
      next_axis += static_cast<int32_t>(shape.size());
    }
    for (Ref s : n->src()) {
      if (Reduces(s)) add(s, place);
    }
    return absl::OkStatus();
  }

  // What need not have been stored, since the reduction below was stored later for other reasons: it
  // is computed again instead.
  absl::Status DropNeedless() {
    for (Ref n : nodes_) {
      KILN_RETURN_IF_ERROR(Update(n));
      const bool needed = forced_.Get(n) || reduces_.Get(n);
      if (storage_.is_stored.Get(n) && !needed) storage_.is_stored[n] = false;
    }
    return absl::OkStatus();
  }

  enum Loops : uint8_t { kUnknown, kLoops, kNoLoops };
  Graph& g_;
  const std::vector<Ref> nodes_;  // Sources first.
  Ref sink_;
  Storage storage_;
  uop::NodeMap<bool> has_data_;  // Depends on an input.
  uop::NodeMap<bool> reduces_, forced_;
  uop::NodeMap<Loops> loops_;
  uop::NodeMap<int64_t> work_;
};

}  // namespace

Ref SkipReshapes(Ref n) {
  while (n->op == Op::kReshape) n = n->src(0);
  return n;
}

absl::StatusOr<Storage> ChooseStorage(Graph& g, Ref sink, absl::Span<const Ref> must_store) {
  Chooser chooser(g, sink);
  KILN_RETURN_IF_ERROR(chooser.Choose(must_store));
  return chooser.Take();
}

}  // namespace kiln::schedule::internal
