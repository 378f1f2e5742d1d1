// Where a value of a tensor graph with SHARD lives: on one device, or in pieces on several.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/uop/graph.h"

namespace kiln::tensor {

// Immutable.
struct Placement {
  Ref shard = nullptr;      // The SHARD that names the devices; null: one device.
  std::optional<int> axis;  // Along which the pieces lie; none: each device has all of it.
  bool is_sharded() const { return shard != nullptr; }
  friend bool operator==(const Placement&, const Placement&) = default;
};

// The devices that a SHARD names. Pre: n->Is(Op::kShard).
std::vector<std::string> DevicesOf(Ref n);

struct PlacementResult {
  Placement placement;
  Ref condition = nullptr;  // What variables must satisfy for equal pieces; null: nothing.
};

// Where `n` lives if its sources live at `sources` (one per source; dims count as on one device).
// Elementwise ops go together on the devices of the sharded sources; others are taken as the same on
// each. InvalidArgument says why that does not work: other devices or another axis, a movement that
// tears pieces apart, pieces of unequal size. Pre: a tensor node with a shape.
absl::StatusOr<PlacementResult> PlacementOf(Graph& g, Ref n, absl::Span<const Placement> sources);

}  // namespace kiln::tensor
