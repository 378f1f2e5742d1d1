// Elements of tensors as seen from one kernel. For the .cc files of this folder.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::schedule::internal {

// An element of a tensor: an index per axis, which means something only where a condition holds. It
// is a node, SINK(condition, index...), so that equal places are the same pointer and values can be
// remembered by (node, place).
class Place {
 public:
  Place() = default;
  static Place Of(Graph& g, Ref valid, absl::Span<const Ref> index);

  Ref node() const { return node_; }
  Ref valid() const { return node_->src(0); }
  bool AlwaysValid() const { return IsIntConst(valid(), 1); }
  bool NeverValid() const { return IsIntConst(valid(), 0); }
  absl::Span<const Ref> index() const { return node_->src().subspan(1); }

  friend bool operator==(Place, Place) = default;

 private:
  explicit Place(Ref node) : node_(node) {}
  Ref node_ = nullptr;
};

// Where in `base`, the first node below `n` that is no movement or at which to stop, the element
// `place` of `n` is.
struct Origin {
  Ref base;
  Place place;  // Simplified. Its condition implies that of the place in `n`.
  Ref inside;   // Whether it is there at all and not padding, given that the place in `n` is valid.
};
// Pre: IsMovement(n->op). Errors: those of symbolic::Simplify and uop::ShapeOf.
absl::StatusOr<Origin> OriginOf(Graph& g, Ref n, Place place, absl::FunctionRef<bool(Ref)> stop_at);

// The row-major position of a place in a tensor of shape `shape`, simplified given that it is valid.
absl::StatusOr<Ref> PositionOf(Graph& g, absl::Span<const Ref> shape, Place place);

// `place`, with its condition and indices simplified. NeverValid where that turns out.
absl::StatusOr<Place> SimplifyPlace(Graph& g, Ref valid, absl::Span<const Ref> index);

// A RANGE over each axis, numbered from `first_axis` on and by axis; the constant 0 on an axis of size 1.
Place LoopsOver(Graph& g, absl::Span<const Ref> shape, int32_t first_axis);
// An element of what a reduction over `axes` of a tensor of shape `shape` combines to the element `place`: with a RANGE
// over each of the axes, numbered from `next_axis` on.
Place ReducedPlace(Graph& g, absl::Span<const Ref> shape, uint32_t axes, Place place,
                   int32_t& next_axis);
// The RANGE nodes among the indices of such a place.
std::vector<Ref> LoopsOf(Place place);

// The number of elements; nullopt if that is not known or beyond int64. At most, where the sizes have bounds.
std::optional<int64_t> MaxElems(Graph& g, absl::Span<const Ref> shape);
// Has an axis of size 0, for all values of the variables.
bool IsEmpty(absl::Span<const Ref> shape);

}  // namespace kiln::schedule::internal
