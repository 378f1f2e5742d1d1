#include "core/schedule/place.h"

#include <algorithm>
#include <optional>

#include "core/dtype/status.h"
#include "core/symbolic/simplify.h"
#include "core/symbolic/validity.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"

namespace kiln::schedule::internal {

Place Place::Of(Graph& g, Ref valid, absl::Span<const Ref> index) {
  std::vector<Ref> src = {valid};
  src.insert(src.end(), index.begin(), index.end());
  return Place(g.Make(Op::kSink, DType::kVoid, src));
}

absl::StatusOr<Place> SimplifyPlace(Graph& g, Ref valid, absl::Span<const Ref> index) {
  std::vector<Ref> simple(index.begin(), index.end());
  if (!valid->IsConst()) {
    KILN_ASSIGN_OR_RETURN(valid, symbolic::Simplify(g, valid));
    KILN_ASSIGN_OR_RETURN(valid, symbolic::SimplifyConjunction(g, valid));
  }
  for (Ref& i : simple) {
    KILN_ASSIGN_OR_RETURN(i, symbolic::Simplify(g, i));
    if (valid->IsConst() || i->IsConst()) continue;
    KILN_ASSIGN_OR_RETURN(i, symbolic::SimplifyGiven(g, i, valid));
    if (i == nullptr) {
      valid = g.Bool(false);
      break;
    }
  }
  if (IsIntConst(valid, 0)) simple.assign(index.size(), g.Index(0));
  return Place::Of(g, valid, simple);
}

absl::StatusOr<Origin> OriginOf(Graph& g, Ref n, Place place,
                                absl::FunctionRef<bool(Ref)> stop_at) {
  tensor::Place at = {{place.index().begin(), place.index().end()}, g.Bool(true)};
  do {
    KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g, n->src(0)));
    KILN_ASSIGN_OR_RETURN(at, tensor::StepBack(g, shape, tensor::StepOf(n), at));
    n = n->src(0);
  } while (uop::IsMovement(n->op) && !stop_at(n));
  KILN_ASSIGN_OR_RETURN(Ref inside, symbolic::Simplify(g, at.valid));
  Ref valid = inside;
  if (!place.AlwaysValid()) {
    if (!inside->IsConst()) {
      KILN_ASSIGN_OR_RETURN(inside, symbolic::SimplifyGiven(g, inside, place.valid()));
      if (inside == nullptr) inside = g.Bool(false);
    }
    valid = IsIntConst(inside, 1) ? place.valid() : g.And(place.valid(), inside);
  }
  KILN_ASSIGN_OR_RETURN(const Place base_place, SimplifyPlace(g, valid, at.index));
  if (base_place.NeverValid()) inside = g.Bool(false);
  return Origin{n, base_place, inside};
}

absl::StatusOr<Ref> PositionOf(Graph& g, absl::Span<const Ref> shape, Place place) {
  KILN_ASSIGN_OR_RETURN(Ref position, tensor::RowMajor(g, shape, place.index()));
  KILN_ASSIGN_OR_RETURN(position, symbolic::Simplify(g, position));
  if (place.AlwaysValid() || position->IsConst()) return position;
  KILN_ASSIGN_OR_RETURN(Ref given, symbolic::SimplifyGiven(g, position, place.valid()));
  return given != nullptr ? given : g.Index(0);
}

namespace {

// In one form, however it is written.
Ref SizeOf(Graph& g, Ref dim) {
  const absl::StatusOr<Ref> simple = symbolic::Simplify(g, dim);
  return simple.ok() ? *simple : dim;
}

// An index that runs over an axis: nothing does over one of size 1.
Ref LoopOver(Graph& g, Ref dim, AxisType type, int32_t& next_axis) {
  Ref end = SizeOf(g, dim);
  return IsIntConst(end, 1) ? g.Index(0) : g.Range(end, next_axis++, type);
}

}  // namespace

Place LoopsOver(Graph& g, absl::Span<const Ref> shape, int32_t first_axis) {
  std::vector<Ref> index;
  for (Ref dim : shape) index.push_back(LoopOver(g, dim, AxisType::kLoop, first_axis));
  return Place::Of(g, g.Bool(true), index);
}

Place ReducedPlace(Graph& g, absl::Span<const Ref> shape, uint32_t axes, Place place,
                   int32_t& next_axis) {
  std::vector<Ref> index(place.index().begin(), place.index().end());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if ((axes >> axis & 1) == 0) continue;
    index[axis] = LoopOver(g, shape[axis], AxisType::kReduce, next_axis);
  }
  return Place::Of(g, place.valid(), index);
}

std::vector<Ref> LoopsOf(Place place) {
  std::vector<Ref> loops;
  for (Ref i : place.index()) {
    if (i->op == Op::kRange) loops.push_back(i);
  }
  return loops;
}

std::optional<int64_t> MaxElems(Graph& g, absl::Span<const Ref> shape) {
  Int128 elems = 1;
  for (Ref dim : shape) {
    const Int128 size = std::max<Int128>(VMax(g, SizeOf(g, dim)), 0);
    if (size == 0) return 0;
    if (size > INT64_MAX) return std::nullopt;
    elems *= size;
    if (elems > INT64_MAX) return std::nullopt;
  }
  return static_cast<int64_t>(elems);
}

bool IsEmpty(absl::Span<const Ref> shape) {
  return std::any_of(shape.begin(), shape.end(), [](Ref dim) { return IsIntConst(dim, 0); });
}

}  // namespace kiln::schedule::internal
