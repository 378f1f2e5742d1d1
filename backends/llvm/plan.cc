#include "backends/llvm/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/uop/text.h"

namespace kiln::backend_llvm {
namespace {

absl::Status Unimplemented(Ref n, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("node ", n->id, ", ", uop::Excerpt(n), ": ", why));
}

}  // namespace

absl::StatusOr<Plan> Plan::Of(const codegen::Program& program) {
  KILN_ASSIGN_OR_RETURN(Lanes lanes, Lanes::Of(program));
  Plan plan(std::move(lanes));
  std::vector<Ref> open;  // Loops and IFs, the innermost last.
  for (Ref n : program.linear->src()) {
    KILN_RETURN_IF_ERROR(plan.CheckSources(n));
    plan.listed_[n] = true;
    plan.home_[n] = open.empty() ? nullptr : open.back();
    plan.forms_.Add(n);
    KILN_RETURN_IF_ERROR(plan.AddShape(n));
    if (n->Is(Op::kIndex)) {
      KILN_RETURN_IF_ERROR(plan.AddPlace(n));
    }
    KILN_RETURN_IF_ERROR(plan.AddRegion(n, open));
    const bool ends = n->Is(Op::kEnd) || n->Is(Op::kEndIf);
    if (ends) plan.home_[n] = open.empty() ? nullptr : open.back();
  }
  if (!open.empty()) return Unimplemented(open.back(), "nothing ends this");
  const absl::Span<const Ref> list = program.linear->src();
  for (size_t i = list.size(); i-- > 0;) plan.Need(list[i]);
  return plan;
}

absl::Status Plan::CheckSources(Ref n) const {
  for (Ref s : n->src()) {
    if (s->IsConst() || s->Is(Op::kParam) || codegen::IsLane(s)) continue;
    if (!listed_.Get(s)) return Unimplemented(n, "comes before a source");
    const Ref region = home_.Get(s);
    if (region != nullptr && ended_.Get(region))
      return Unimplemented(n, "a source is in a loop that ended");
  }
  return absl::OkStatus();
}

LaneShape Plan::ShapeOf(Ref n) const {
  if (codegen::IsLane(n)) return lanes_.ShapeOf(n);
  return shapes_.Get(n);
}

absl::Status Plan::AddShape(Ref n) {
  LaneShape shape;
  switch (n->op) {
    case Op::kRange:
      if (!codegen::IsLoop(n)) return Unimplemented(n, "a range that is neither loop nor lane");
      break;
    case Op::kSpecial:
    case Op::kVariable:
    case Op::kEnd:
    case Op::kEndIf:
    case Op::kIf:
      break;
    case Op::kReduce: {
      shape = ShapeOf(n->src(0));
      for (int i = 1; i < n->num_src; ++i) {
        if (!codegen::IsLane(n->src(i))) return Unimplemented(n, "reduces over what is no lane");
        const LaneShape over = lanes_.ShapeOf(n->src(i));
        shape.axes &= ~over.axes;
        shape.vector = shape.vector && !over.vector;
      }
      break;
    }
    case Op::kAfter:
      shape = ShapeOf(n->src(0));
      break;
    case Op::kIndex:
    case Op::kLoad:
    case Op::kStore:
      for (Ref s : n->src()) {
        if (!uop::IsEffect(s->op)) shape = shape | ShapeOf(s);
      }
      break;
    default:
      if (!uop::IsAlu(n->op)) return Unimplemented(n, "not an instruction of a program");
      for (Ref s : n->src()) shape = shape | ShapeOf(s);
  }
  shapes_[n] = shape;
  return absl::OkStatus();
}

absl::Status Plan::AddPlace(Ref n) {
  Place p;
  p.param = WithoutOrder(n->src(0));
  p.index = n->src(1);
  p.gate = n->num_src > 2 ? n->src(2) : nullptr;
  p.shape = ShapeOf(n);
  p.index_shape = ShapeOf(p.index);
  p.factors.resize(static_cast<size_t>(lanes_.num_axes()));
  const IndexForm form = forms_.FormOf(p.index);
  p.constant = form.constant;
  for (const IndexForm::Term& term : form.terms) {
    if (!codegen::IsLane(term.atom)) {
      if (ShapeOf(term.atom).vector) p.along = Along::kIndexed;
      p.terms.push_back(term);
      continue;
    }
    const LaneShape lane = lanes_.ShapeOf(term.atom);
    if (lane.vector) p.stride = term.factor;
    for (size_t i = 0; i < p.factors.size(); ++i) {
      if (lane.axes == uint32_t{1} << i) p.factors[i] = term.factor;
    }
  }
  if (p.along != Along::kIndexed && p.stride != 0) p.along = Along::kStrided;
  if (IsAccumulator(p.param) && (!p.terms.empty() || p.gate != nullptr)) {
    return Unimplemented(n, "an accumulator is indexed by lanes only, without a gate");
  }
  places_.push_back(std::move(p));
  place_index_[n] = static_cast<uint32_t>(places_.size());
  return absl::OkStatus();
}

absl::Status Plan::AddRegion(Ref n, std::vector<Ref>& open) {
  if (n->Is(Op::kRange) || n->Is(Op::kIf)) {
    open.push_back(n);
    stored_.emplace_back();
    stored_index_[n] = static_cast<uint32_t>(stored_.size());
    if (n->Is(Op::kRange)) ends_[n] = static_cast<int64_t>(forms_.BoundsOf(n->src(0)).lo);
  } else if (n->Is(Op::kEnd)) {
    // END(effects..., range).
    if (open.empty() || n->src(n->num_src - 1) != open.back()) {
      return Unimplemented(n, "does not end the innermost loop");
    }
    ended_[open.back()] = true;
    open.pop_back();
  } else if (n->Is(Op::kEndIf)) {
    if (open.empty() || n->src(0) != open.back())
      return Unimplemented(n, "does not end the innermost if");
    ended_[open.back()] = true;
    open.pop_back();
  } else if (n->Is(Op::kStore)) {
    if (n->num_src != 2) return Unimplemented(n, "a store has a place and a value");
    const Place& place = PlaceOf(n->src(0));
    if (!place.shape.Contains(ShapeOf(n->src(1)))) {
      return Unimplemented(n, "the value has lanes that the place does not have");
    }
    if (!IsAccumulator(place.param)) return absl::OkStatus();
    for (Ref region : open) {
      std::vector<int64_t>& stored = stored_[stored_index_.Get(region) - 1];
      const int64_t number = uop::ParamOf(place.param).number;
      if (std::find(stored.begin(), stored.end(), number) == stored.end()) stored.push_back(number);
    }
  }
  return absl::OkStatus();
}

absl::Span<const int64_t> Plan::StoredIn(Ref region) const {
  return stored_[stored_index_.Get(region) - 1];
}

// Called from the last instruction to the first: users have been seen.
void Plan::Need(Ref n) {
  switch (n->op) {
    case Op::kStore:
      NeedPlace(n->src(0));
      needed_[n->src(1)] = true;
      return;
    case Op::kIf:
    case Op::kRange:
      needed_[n->src(0)] = true;
      return;
    default:
      break;
  }
  if (!needed_.Get(n)) return;
  if (n->Is(Op::kLoad)) {
    NeedPlace(n->src(0));
    if (n->num_src > 1 && !uop::IsEffect(n->src(1)->op)) needed_[n->src(1)] = true;
  } else if (n->Is(Op::kReduce) || n->Is(Op::kAfter)) {
    needed_[n->src(0)] = true;
  } else if (uop::IsAlu(n->op)) {
    for (Ref s : n->src()) needed_[s] = true;
  }
}

void Plan::NeedPlace(Ref place) {
  const Place& p = PlaceOf(place);
  if (p.gate != nullptr) needed_[p.gate] = true;
  if (p.along == Along::kIndexed) {
    needed_[p.index] = true;
    return;
  }
  for (const IndexForm::Term& term : p.terms) needed_[term.atom] = true;
}

}  // namespace kiln::backend_llvm
