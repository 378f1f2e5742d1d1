#include "core/tensor/placement.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/dtype/status.h"
#include "core/symbolic/render.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/index_math.h"
#include "core/tensor/movement.h"
#include "core/uop/facts.h"

namespace kiln::tensor {
namespace {

using Dims = absl::Span<const Ref>;

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string Text(Ref dim) { return symbolic::Render(dim, 80); }

// The pieces of an axis of size `size` must be equal.
absl::StatusOr<PlacementResult> InEqualPieces(Graph& g, const Placement& placement, Ref size) {
  const auto pieces = static_cast<int64_t>(DevicesOf(placement.shard).size());
  Ref rest = internal::Remainder(g, size, g.Index(pieces));
  KILN_ASSIGN_OR_RETURN(Ref condition, symbolic::Simplify(g, internal::Equal(g, rest, g.Index(0))));
  if (IsIntConst(condition, 1)) return PlacementResult{placement};
  if (VMax(g, condition) == 0) {
    return Wrong("axis ", *placement.axis, " of size ", Text(size), " has no ", pieces,
                 " equal pieces");
  }
  return PlacementResult{placement, condition};
}

absl::StatusOr<PlacementResult> Together(absl::Span<const Placement> sources) {
  Placement result;
  for (const Placement& p : sources) {
    if (!p.is_sharded()) continue;
    if (!result.is_sharded()) {
      result = p;
      continue;
    }
    if (p.shard->arg.payload().text != result.shard->arg.payload().text) {
      return Wrong("its sources are sharded over different devices");
    }
    if (!p.axis.has_value()) continue;
    if (result.axis.has_value() && *result.axis != *p.axis) {
      return Wrong("its sources are sharded along axes ", *result.axis, " and ", *p.axis);
    }
    result = p;
  }
  return PlacementResult{result};
}

// The axis of `to` whose pieces are those of axis `axis` of `from`: the product of the sizes before
// it is the same, and it is the first of such axes that is not 1.
absl::StatusOr<PlacementResult> Reshaped(Graph& g, Placement p, Dims from, Dims to) {
  const auto axis = static_cast<size_t>(*p.axis);
  KILN_ASSIGN_OR_RETURN(Ref before, symbolic::Simplify(g, ElementCount(g, from.subspan(0, axis))));
  for (size_t i = 0; i < to.size(); ++i) {
    if (internal::IsOne(to[i]) && !internal::IsOne(from[axis])) continue;
    KILN_ASSIGN_OR_RETURN(Ref now, symbolic::Simplify(g, ElementCount(g, to.subspan(0, i))));
    if (now != before) continue;
    p.axis = static_cast<int>(i);
    return InEqualPieces(g, p, to[i]);
  }
  return Wrong("it tears apart the pieces of axis ", axis);
}

// PAD and SHRINK must leave the axis alone.
absl::StatusOr<PlacementResult> Resized(Graph& g, Ref n, const Placement& p, Dims from) {
  const auto axis = static_cast<size_t>(*p.axis);
  Ref first = n->src(static_cast<int>(2 * axis + 1)),
      second = n->src(static_cast<int>(2 * axis + 2));
  Ref whole = n->Is(Op::kPad) ? g.Index(0) : from[axis];
  if (internal::IsZero(first) && second == whole) return PlacementResult{p};
  return Wrong("it changes axis ", axis, ", along which its source is sharded");
}

absl::StatusOr<PlacementResult> Moved(Graph& g, Ref n, Placement p) {
  if (!p.axis.has_value()) return PlacementResult{p};
  KILN_ASSIGN_OR_RETURN(const Dims from, uop::ShapeOf(g, n->src(0)));
  KILN_ASSIGN_OR_RETURN(const Dims to, uop::ShapeOf(g, n));
  switch (n->op) {
    case Op::kReshape:
      return Reshaped(g, p, from, to);
    case Op::kPermute: {
      const absl::Span<const int64_t> order = n->arg.payload().ints;
      size_t i = 0;
      while (order[i] != *p.axis) ++i;
      p.axis = static_cast<int>(i);
      return PlacementResult{p};
    }
    case Op::kFlip:
      if ((n->arg.bits() >> *p.axis & 1) == 0) return PlacementResult{p};
      return Wrong("it reverses axis ", *p.axis, ", along which its source is sharded");
    case Op::kPad:
    case Op::kShrink:
      return Resized(g, n, p, from);
    default:  // kExpand.
      if (from[static_cast<size_t>(*p.axis)] == to[static_cast<size_t>(*p.axis)]) {
        return PlacementResult{p};
      }
      return Wrong("it repeats axis ", *p.axis, ", along which its source is sharded");
  }
}

absl::StatusOr<PlacementResult> Sharded(Graph& g, Ref n) {
  Placement p{.shard = n, .axis = {}};
  const absl::Span<const int64_t> axis = n->arg.payload().ints;
  if (axis.empty()) return PlacementResult{p};
  p.axis = static_cast<int>(axis[0]);
  KILN_ASSIGN_OR_RETURN(const Dims shape, uop::ShapeOf(g, n));
  return InEqualPieces(g, p, shape[static_cast<size_t>(axis[0])]);
}

absl::StatusOr<PlacementResult> Rescaled(Graph& g, Ref n, const Placement& p) {
  KILN_ASSIGN_OR_RETURN(const Dims to, uop::ShapeOf(g, n));
  if (!p.axis.has_value() || static_cast<size_t>(*p.axis) + 1 != to.size()) {
    return PlacementResult{p};
  }
  return InEqualPieces(g, p, to.back());
}

}  // namespace

std::vector<std::string> DevicesOf(Ref n) {
  const std::string_view text = n->arg.payload().text;
  return absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
}

absl::StatusOr<PlacementResult> PlacementOf(Graph& g, Ref n, absl::Span<const Placement> sources) {
  if (uop::IsMovement(n->op)) return Moved(g, n, sources[0]);
  if (n->Is(Op::kBitcast)) return Rescaled(g, n, sources[0]);
  if (uop::IsAlu(n->op)) return Together(sources);
  switch (n->op) {
    case Op::kShard:
      if (sources[0].is_sharded()) return Wrong("its source is sharded already");
      return Sharded(g, n);
    case Op::kUnshard:
      if (!sources[0].is_sharded()) return Wrong("its source is not sharded");
      return PlacementResult{};
    case Op::kAllReduce:
      if (!sources[0].is_sharded()) return Wrong("its source is not sharded");
      return PlacementResult{sources[0]};
    case Op::kCopy:
      if (sources[0].is_sharded()) return Wrong("its source is sharded: unshard it first");
      return PlacementResult{};
    case Op::kAssign:
      if (sources[0] == sources[1]) return PlacementResult{sources[0]};
      return Wrong("its value is sharded, and its target is not: unshard it first");
    case Op::kReduce: {
      Placement p = sources[0];
      if (p.axis.has_value() && (n->arg.reduce().axes >> *p.axis & 1) != 0) p.axis.reset();
      return PlacementResult{p};
    }
    case Op::kContiguous:
    case Op::kDetach:
      return PlacementResult{sources[0]};
    default:
      return PlacementResult{};
  }
}

}  // namespace kiln::tensor
