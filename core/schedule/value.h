// What a kernel computes: tensor nodes at a place become scalar expressions. For the .cc files of this folder.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "core/schedule/place.h"
#include "core/uop/graph.h"
#include "core/uop/node_map.h"

namespace kiln::schedule::internal {

// What a kernel reads instead of computing it.
class Memory {
 public:
  virtual ~Memory() = default;
  // Whether the value of `n`, which is neither an INPUT nor an ASSIGN (those always are), lies in memory.
  virtual bool IsStored(Ref n) const = 0;
  // The PARAM through which the kernel reads `state`: an INPUT (its contents before the run), an
  // ASSIGN (the whole input after it), or a stored node; `elems` elements.
  virtual Ref ParamOf(Ref state, int64_t elems) = 0;
};

// Confined to the compile job. Values of one kernel: what occurs twice at one place is computed once.
class Values {
 public:
  // Reductions get axis ids from `first_axis` on.
  Values(Graph& g, Memory& memory, int32_t first_axis)
      : g_(g), memory_(memory), next_axis_(first_axis) {}

  // The element `place` of `n`, whatever it is outside of the place's condition. Computes `n`
  // itself even if it is stored, unless it is an INPUT or an ASSIGN. No recursion. Null if some node
  // would have to be computed at too many places, because what uses it, directly or not, does so in
  // ever more ways; `crowded` is then that node, which had better be stored.
  absl::StatusOr<Ref> At(Ref n, Place place);
  Ref crowded() const { return crowded_; }
  // Where in memory the element `place` of INPUT or ASSIGN `n`, or of what ASSIGN `n` writes, is.
  struct Location {
    int64_t elems;
    Ref position;
    Place place;  // In the input.
  };
  absl::StatusOr<Location> LocationOf(Ref n, Place place);
  int32_t next_axis() const { return next_axis_; }

 private:
  using Key = std::pair<Ref, Ref>;
  struct Frame {
    Ref node;
    Place place;
    std::vector<std::pair<Ref, Place>> operands;
    std::vector<Ref> values;
    Ref inside = nullptr;     // Of a movement.
    std::vector<Ref> ranges;  // Of a reduction.
  };
  void Remember(Ref n, Place place, Ref value);
  // The value of what has no operands; else null, and `frame` has them.
  absl::StatusOr<Ref> Begin(Frame& frame, bool is_root);
  absl::StatusOr<Ref> BeginReduce(Frame& frame);
  absl::StatusOr<Ref> BeginBitcast(Frame& frame);
  absl::StatusOr<Ref> Finish(Frame& frame);
  absl::StatusOr<Ref> Read(Ref n, Place place);
  Ref Load(Ref state, int64_t elems, Ref position, Ref valid, DType dtype);

  Graph& g_;
  Memory& memory_;
  int32_t next_axis_;
  absl::flat_hash_map<Key, Ref> known_;
  uop::NodeMap<uint32_t> num_places_;
  Ref crowded_ = nullptr;
};

// Elements that `shape` has at most. InvalidArgument if int64 doesn't hold that.
absl::StatusOr<int64_t> ElemsOf(Graph& g, absl::Span<const Ref> shape);

}  // namespace kiln::schedule::internal
