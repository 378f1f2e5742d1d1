// The nodes of a fixture record as nodes of our IR.
//
// Our dtypes have no lanes and no pointers. What the fixtures write as a vector is a value with a
// shape here:
//
//   float32x4                    dtype float32, shape [4]
//   VECTORIZE, VCONST            STACK of the lanes; a vector CONST (a splat) is a STACK of equal ones
//   GEP of one lane, of several  UNSTACK; STACK of UNSTACKs
//   LOAD of n lanes              STACK of the LOADs of n consecutive elements
//   elementwise on vectors       the same op on the shaped operands
//   STORE of a vector            STORE of the shaped value
//   DEFINE_GLOBAL, DEFINE_LOCAL  PARAM with address space and element count
//   LOAD ordered by a BARRIER    LOAD with 0 as the value if gated off, and the barrier
//
// Images, pointers to vectors, and UNROLL and CONTRACT (lanes that belong to a numbered axis) have
// no counterpart.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/uop/graph.h"
#include "tests/replay/fixture_dtype.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// Owns the nodes of one record. Confined to the main thread.
class RecordGraph {
 public:
  // Translates `nodes`, a JSON array. Unimplemented, with a reason for skipping, if a node has no
  // counterpart; InvalidArgument, naming the node, if one is malformed. Call once.
  absl::Status Load(const Json& nodes);

  // Whether every elementwise node has a value on its dtype, as simplification takes for granted.
  // Names the node otherwise.
  absl::Status RequireDefined() const;

  Graph& graph() { return graph_; }
  const std::vector<Ref>& nodes() const { return nodes_; }
  // The node that `index`, a JSON number, refers to; InvalidArgument if it refers to none.
  absl::StatusOr<Ref> At(const Json& index) const;

 private:
  Graph graph_;
  std::vector<Ref> nodes_;
};

}  // namespace kiln::replay
