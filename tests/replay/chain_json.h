// Chains of movement ops as the shape fixtures write them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/tensor/movement.h"
#include "tests/replay/graph_json.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// A list of sizes: integers and {"u": k} for node k of `nodes`.
absl::StatusOr<std::vector<Ref>> ParseSizes(RecordGraph& nodes, const Json& json);

// A list of [op, arg]. Whether the steps fit the shape they meet is for ShapeAfter to say.
absl::StatusOr<std::vector<tensor::Movement>> ParseChain(RecordGraph& nodes, const Json& json);

// The elements of a shape for which a record says where they are read from.
struct Elements {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> coordinates;
  std::vector<int64_t> offsets;  // Of each: an element of the base, or -1 in padding.
  bool all = true;               // No element of the shape is missing.
};

// Reads `shape`, `offsets` and, if present, `at` of a JSON object.
absl::StatusOr<Elements> ParseElements(const Json& json);

}  // namespace kiln::replay
