#include "core/schedule/value.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/check.h"
#include "core/dtype/status.h"
#include "core/schedule/bytes.h"
#include "core/schedule/collapse.h"
#include "core/symbolic/simplify.h"
#include "core/uop/constants.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"

namespace kiln::schedule::internal {
namespace {

// At how many places one kernel computes one node. Beyond, users of users multiply.
constexpr uint32_t kMaxPlaces = 256;

}  // namespace

absl::StatusOr<int64_t> ElemsOf(Graph& g, absl::Span<const Ref> shape) {
  if (const std::optional<int64_t> elems = MaxElems(g, shape); elems.has_value()) return *elems;
  return absl::InvalidArgumentError(
      absl::StrCat("a tensor of shape (", uop::ToText(shape), ") has more elements than 2^63 - 1"));
}

absl::StatusOr<Ref> Values::At(Ref n, Place place) {
  std::vector<Frame> stack;
  Ref arrived = nullptr;
  // Starts on an element: true if its value is known, which has then arrived.
  const auto enter = [&](Ref node, Place at, bool is_root) -> absl::StatusOr<bool> {
    if (const auto it = known_.find({node, at.node()}); !is_root && it != known_.end()) {
      arrived = it->second;
      return true;
    }
    Frame frame{.node = node, .place = at};
    KILN_ASSIGN_OR_RETURN(arrived, Begin(frame, is_root));
    if (arrived == nullptr) {
      stack.push_back(std::move(frame));
      return false;
    }
    if (!is_root) Remember(node, at, arrived);
    return true;
  };

  KILN_ASSIGN_OR_RETURN(bool done, enter(n, place, /*is_root=*/true));
  if (done) return arrived;
  while (true) {
    Frame& frame = stack.back();
    if (frame.values.size() < frame.operands.size()) {
      const auto [node, at] = frame.operands[frame.values.size()];
      KILN_ASSIGN_OR_RETURN(done, enter(node, at, /*is_root=*/false));  // May move `frame`.
      if (done) stack.back().values.push_back(arrived);
      continue;
    }
    KILN_ASSIGN_OR_RETURN(arrived, Finish(frame));
    const Frame finished = std::move(frame);
    stack.pop_back();
    if (stack.empty()) return arrived;
    Remember(finished.node, finished.place, arrived);
    if (crowded_ != nullptr) return nullptr;
    stack.back().values.push_back(arrived);
  }
}

void Values::Remember(Ref n, Place place, Ref value) {
  known_.emplace(Key{n, place.node()}, value);
  const bool is_computed = uop::IsAlu(n->op) || n->op == Op::kReduce;
  if (is_computed && ++num_places_[n] > kMaxPlaces && crowded_ == nullptr) crowded_ = n;
}

absl::StatusOr<Ref> Values::Begin(Frame& frame, bool is_root) {
  Ref n = frame.node;
  const Place place = frame.place;
  if (place.NeverValid()) return ZeroOf(g_, n->dtype);
  if (n->op == Op::kInput || n->op == Op::kAssign) return Read(n, place);
  if (!is_root && memory_.IsStored(n)) return Read(n, place);
  switch (n->op) {
    case Op::kConst:
    case Op::kVariable:
      return n;
    case Op::kBind:
      return n->src(0);
    case Op::kIota:
      return g_.Cast(place.index()[static_cast<size_t>(n->arg.integer())], n->dtype);
    case Op::kContiguous:
    case Op::kDetach:
    case Op::kCopy:
      frame.operands = {{n->src(0), place}};
      return nullptr;
    case Op::kReduce:
      return BeginReduce(frame);
    case Op::kBitcast:
      return BeginBitcast(frame);
    default:
      break;
  }
  if (uop::IsMovement(n->op)) {
    KILN_ASSIGN_OR_RETURN(const Origin origin,
                          OriginOf(g_, n, place, [this](Ref m) { return memory_.IsStored(m); }));
    if (origin.place.NeverValid()) return ZeroOf(g_, n->dtype);
    frame.inside = origin.inside;
    frame.operands = {{origin.base, origin.place}};
    return nullptr;
  }
  if (!uop::IsAlu(n->op)) {
    return absl::UnimplementedError(absl::StrCat("kernels do not compute ", uop::Excerpt(n)));
  }
  for (Ref s : n->src()) frame.operands.emplace_back(s, place);
  return nullptr;
}

absl::StatusOr<Ref> Values::BeginReduce(Frame& frame) {
  Ref n = frame.node;
  KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n->src(0)));
  const ReduceArg arg = n->arg.reduce();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool is_reduced = (arg.axes >> axis & 1) != 0;
    if (is_reduced && IsIntConst(shape[axis], 0)) return ReduceIdentity(g_, arg.op, n->dtype);
  }
  const Place place = ReducedPlace(g_, shape, arg.axes, frame.place, next_axis_);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool is_reduced = (arg.axes >> axis & 1) != 0;
    if (is_reduced && place.index()[axis]->op == Op::kRange) {
      frame.ranges.push_back(place.index()[axis]);
    }
  }
  frame.operands = {{n->src(0), place}};
  return nullptr;
}

absl::StatusOr<Ref> Values::BeginBitcast(Frame& frame) {
  Ref n = frame.node;
  Ref x = n->src(0);
  const int from = dtype::SizeBytes(x->dtype), to = dtype::SizeBytes(n->dtype);
  std::vector<Ref> index(frame.place.index().begin(), frame.place.index().end());
  if (from == to) {
    frame.operands = {{x, frame.place}};
  } else if (from > to) {
    index.back() = g_.IDiv(index.back(), g_.Index(from / to));
    KILN_ASSIGN_OR_RETURN(Place place, SimplifyPlace(g_, frame.place.valid(), index));
    frame.operands = {{x, place}};
  } else {
    Ref first = g_.Mul(index.back(), g_.Index(to / from));
    for (int part = 0; part < to / from; ++part) {
      index.back() = g_.Add(first, g_.Index(part));
      KILN_ASSIGN_OR_RETURN(Place place, SimplifyPlace(g_, frame.place.valid(), index));
      frame.operands.emplace_back(x, place);
    }
  }
  return nullptr;
}

absl::StatusOr<Ref> Values::Finish(Frame& frame) {
  Ref n = frame.node;
  switch (n->op) {
    case Op::kContiguous:
    case Op::kDetach:
    case Op::kCopy:
      return frame.values[0];
    case Op::kReduce: {
      KILN_ASSIGN_OR_RETURN(Ref body, symbolic::Simplify(g_, frame.values[0]));
      return CollapsedReduce(g_, n->arg.reduce().op, body, frame.ranges);
    }
    case Op::kBitcast:
      return frame.values.size() > 1
                 ? JoinBytes(g_, frame.values, n->dtype)
                 : PartOfBytes(g_, frame.values[0], n->dtype,
                               frame.place.index().empty() ? nullptr : frame.place.index().back());
    default:
      break;
  }
  if (uop::IsMovement(n->op)) {
    if (IsIntConst(frame.inside, 1)) return frame.values[0];
    return g_.Where(frame.inside, frame.values[0], ZeroOf(g_, n->dtype));
  }
  return g_.Make(n->op, n->dtype, frame.values, n->arg);
}

absl::StatusOr<Values::Location> Values::LocationOf(Ref n, Place place) {
  while (n->op != Op::kInput) {
    if (n->op == Op::kAssign) {
      n = n->src(0);
      continue;
    }
    KILN_DCHECK(uop::IsMovement(n->op));
    KILN_ASSIGN_OR_RETURN(const Origin origin, OriginOf(g_, n, place, [](Ref) { return false; }));
    n = origin.base;
    place = origin.place;
  }
  KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
  KILN_ASSIGN_OR_RETURN(const int64_t elems, ElemsOf(g_, shape));
  KILN_ASSIGN_OR_RETURN(Ref position, PositionOf(g_, shape, place));
  return Location{elems, position, place};
}

absl::StatusOr<Ref> Values::Read(Ref n, Place place) {
  if (n->op == Op::kInput || n->op == Op::kAssign) {
    KILN_ASSIGN_OR_RETURN(const Location at, LocationOf(n, place));
    return Load(n, at.elems, at.position, at.place.valid(), n->dtype);
  }
  KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g_, n));
  KILN_ASSIGN_OR_RETURN(const int64_t elems, ElemsOf(g_, shape));
  KILN_ASSIGN_OR_RETURN(Ref position, PositionOf(g_, shape, place));
  return Load(n, elems, position, place.valid(), n->dtype);
}

Ref Values::Load(Ref state, int64_t elems, Ref position, Ref valid, DType dtype) {
  if (IsIntConst(valid, 0)) return ZeroOf(g_, dtype);
  Ref param = memory_.ParamOf(state, elems);
  // Outside of its condition the value does not matter: a gate is for what may not be touched.
  const Bounds bounds = BoundsOf(g_, position);
  if (bounds.lo >= 0 && bounds.hi < elems) valid = g_.Bool(true);
  if (IsIntConst(valid, 1)) {
    return g_.Make(Op::kLoad, dtype, {g_.Make(Op::kIndex, dtype, {param, position})});
  }
  Ref place = g_.Make(Op::kIndex, dtype, {param, position, valid});
  return g_.Make(Op::kLoad, dtype, {place, ZeroOf(g_, dtype)});
}

}  // namespace kiln::schedule::internal
