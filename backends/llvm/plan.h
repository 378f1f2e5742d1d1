// What the emitter has to know of a program before it writes the first instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "backends/llvm/index_form.h"
#include "backends/llvm/lanes.h"
#include "core/codegen/program.h"
#include "core/uop/node_map.h"

namespace kiln::backend_llvm {

// How the element index moves from one lane of the vector to the next.
enum class Along {
  kUniform,  // Not at all.
  kStrided,  // By `stride`.
  kIndexed,  // In no way that is known here.
};

// An INDEX: which elements are accessed.
struct Place {
  Ref param = nullptr;
  Ref index = nullptr;
  Ref gate = nullptr;  // May be null.
  LaneShape shape;     // Of index and gate.
  LaneShape index_shape;
  Along along = Along::kUniform;
  int64_t stride = 0;
  // The element: constant + factors[i] * counter of axis i + terms (+ stride * lane). Not for
  // kIndexed.
  int64_t constant = 0;
  std::vector<int64_t> factors;
  std::vector<IndexForm::Term> terms;
};

// Immutable. Confined to the compile job.
class Plan {
 public:
  // Unimplemented for what a program may not have, or this backend lacks; names the node.
  static absl::StatusOr<Plan> Of(const codegen::Program& program);

  const Lanes& lanes() const { return lanes_; }
  LaneShape ShapeOf(Ref n) const;
  // Whether the value of `n` is used: indices mostly are not, their parts are.
  bool IsNeeded(Ref n) const { return needed_.Get(n); }
  // Pre: `n` is an INDEX of the program.
  const Place& PlaceOf(Ref n) const { return places_[place_index_.Get(n) - 1]; }
  // Least value of the end of a loop.
  int64_t LeastEnd(Ref range) const { return ends_.Get(range); }
  // Numbers of the accumulators that are stored to inside of a loop or IF.
  absl::Span<const int64_t> StoredIn(Ref region) const;

 private:
  explicit Plan(Lanes lanes) : lanes_(std::move(lanes)) {}
  absl::Status CheckSources(Ref n) const;
  absl::Status AddShape(Ref n);
  absl::Status AddPlace(Ref n);
  absl::Status AddRegion(Ref n, std::vector<Ref>& open);
  void Need(Ref n);
  void NeedPlace(Ref place);

  Lanes lanes_;
  IndexForms forms_;
  uop::NodeMap<LaneShape> shapes_;
  uop::NodeMap<bool> listed_, needed_;
  uop::NodeMap<Ref> home_;    // The innermost loop or IF that a node is in.
  uop::NodeMap<bool> ended_;  // Loops and IFs.

  std::vector<Place> places_;
  uop::NodeMap<uint32_t> place_index_;  // Plus 1.
  std::vector<std::vector<int64_t>> stored_;
  uop::NodeMap<int64_t> ends_;           // Least value of the end, by loop.
  uop::NodeMap<uint32_t> stored_index_;  // Of regions; plus 1.
};

// What `n` is under AFTER.
inline Ref WithoutOrder(Ref n) {
  while (n->Is(Op::kAfter)) n = n->src(0);
  return n;
}
inline bool IsAccumulator(Ref param) {
  return uop::ParamOf(param).space == AddressSpace::kRegister;
}

}  // namespace kiln::backend_llvm
