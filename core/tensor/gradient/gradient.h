// Reverse-mode differentiation of tensor graphs: adjoints as nodes of the same graph, made of the
// same primitives, so that they can be differentiated again.
//
//   KILN_ASSIGN_OR_RETURN(std::vector<Ref> grads, Gradients(g, loss, nullptr, {w, b}));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/tensor/placement.h"
#include "core/uop/node_map.h"
#include "core/uop/walk.h"

namespace kiln::tensor {

// What differentiation may still spend. Shared by several passes; thread-compatible.
struct GradientBudget {
  int64_t visits = INT64_MAX;  // Of nodes, all passes together.
  int64_t nodes = INT64_MAX;   // Made.
};

struct GradientOptions {
  // Null: no limit. Borrowed until the pass dies.
  GradientBudget* budget = nullptr;
  // The device that an INPUT lives on; empty, or a null function: the default device.
  std::function<std::string(Ref input)> device_of;
};

// The adjoints of nodes below `y`: d(sum(y * seed)) / d(node). Confined to the compile job; borrows
// the graph.
//
// The adjoint of a node is the sum over its users of what goes from their adjoints to it. It depends
// on the nodes between it and y only, so adjoints are worked out when they are first asked for, and
// all questions together cost no more than one pass: linear in the nodes between y and the xs. No
// recursion. Sums are in the order of node ids.
//
// - An adjoint has dtype and shape of its node. Sums over repeated axes of floats narrower than
//   float32 are accumulated in float32.
// - Zero goes to what is not a float (through CAST too), to the sources of BITCAST and TRUNC, and
//   through DETACH. MAX shares equally among what is equal. At a zero of SQRT or LOG2 the
//   gradient is infinite, as it is. Products over axes of at most 16 elements have derivatives of any
//   order; those of longer ones are right up to the second, and beyond if no two elements but x are 0.
// - ASSIGN passes to its value. COPY goes back to where its source lives, SHARD and UNSHARD undo each
//   other, an ALLREDUCE of sums is one again; of others, pieces are what axes are to a reduction.
class Adjoints {
 public:
  // `seed` of null: ones. InvalidArgument if y is no float, the seed has not dtype and shape of y,
  // or a node has no shape.
  static absl::StatusOr<std::unique_ptr<Adjoints>> Make(Graph& g, Ref y, Ref seed,
                                                        GradientOptions options = {});

  // The adjoint of `x`, any node; zeros if no path leads from y to it. InvalidArgument: x is no float.
  // Unimplemented names a node that has no gradient: CALL and GRADIENT (expanded first).
  // ResourceExhausted: the budget.
  absl::StatusOr<Ref> Of(Ref x);

  Ref y() const { return y_; }
  Ref seed() const { return seed_; }

 private:
  enum class State : uint8_t { kUnknown, kPending, kDone };

  Adjoints(Graph& g, Ref y, Ref seed, GradientOptions options);
  absl::Status Spend(int64_t visits);
  // The nodes that the adjoint of `x` depends on and that have none yet, and x; users first.
  std::vector<Ref> Pending(Ref x);
  absl::Status Compute(Ref n);
  // What goes from `v` to its source `i`; null: nothing.
  absl::StatusOr<Ref> Part(Ref v, int i);
  absl::StatusOr<Ref> DeviceGradient(Ref v, Ref d);

  // ** where nodes are ** (only asked if there is a SHARD or a COPY)
  absl::StatusOr<Placement> PlacementOf(Ref n);
  // `n`, moved to where `like` is in pieces or whole.
  absl::StatusOr<Ref> PlacedLike(Ref n, Ref like);
  // Of a tensor that is whole; null: it can be anywhere, there is no data below.
  const std::string* DeviceOf(Ref n);

  Graph& g_;
  Ref y_, seed_;
  GradientOptions options_;
  uop::Users users_;
  bool has_shards_ = false;
  uop::NodeMap<State> state_;
  uop::NodeMap<Ref> adjoint_;  // Null: zero.
  struct Where {
    bool known = false;
    Placement placement;
  };
  uop::NodeMap<Where> placements_;
  uop::NodeMap<uint32_t> device_plus_2_;  // 0: not known yet; 1: anywhere; else an index.
  std::vector<std::unique_ptr<std::string>> devices_;
};

// The default seed: ones of dtype and shape of `y`, which has a shape.
Ref OnesLike(Graph& g, Ref y);

// The adjoints of several nodes, in one pass.
absl::StatusOr<std::vector<Ref>> Gradients(Graph& g, Ref y, Ref seed, absl::Span<const Ref> xs);

}  // namespace kiln::tensor
