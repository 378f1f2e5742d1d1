#include "core/schedule/kernels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/schedule/place.h"
#include "core/schedule/share_loops.h"
#include "core/schedule/value.h"
#include "core/symbolic/simplify.h"
#include "core/uop/facts.h"
#include "core/uop/ranges.h"
#include "core/uop/walk.h"

namespace kiln::schedule::internal {
namespace {

// The PARAMs of one kernel. What an ASSIGN overwrites is read through the PARAM that it writes.
class KernelMemory : public Memory {
 public:
  KernelMemory(Graph& g, const Storage& storage, Ref root, Ref overwritten)
      : g_(g), storage_(storage), overwritten_(overwritten), states_{root} {}

  bool IsStored(Ref n) const override { return storage_.is_read.Get(n); }
  Ref ParamOf(Ref state, int64_t elems) override {
    if (state == overwritten_) state = states_[0];
    auto it = std::find(states_.begin(), states_.end(), state);
    if (it == states_.end()) it = states_.insert(it, state);
    const auto number = static_cast<int64_t>(it - states_.begin());
    return g_.Param(state->dtype, absl::StrCat("data", number), number, elems,
                    AddressSpace::kGlobal);
  }
  std::vector<Ref> TakeStates() { return std::move(states_); }

 private:
  Graph& g_;
  const Storage& storage_;
  Ref overwritten_;
  std::vector<Ref> states_;
};

}  // namespace

std::string NameOf(Ref sink) {
  std::string sizes;
  bool reduces = false;
  for (Ref r : uop::RangesBelow(sink)) {
    reduces = reduces || r->arg.range().type == AxisType::kReduce;
    absl::StrAppend(&sizes, "_", r->src(0)->IsConst() ? absl::StrCat(r->src(0)->IntValue()) : "v");
  }
  return absl::StrCat(reduces ? "r" : "e", sizes);
}

absl::StatusOr<Kernel> MakeKernel(Graph& g, const Storage& storage, const States& states,
                                  Ref root) {
  const bool in_place = root->op == Op::kAssign;
  Ref value_node = in_place ? root->src(1) : root;
  KILN_ASSIGN_OR_RETURN(const absl::Span<const Ref> shape, uop::ShapeOf(g, value_node));
  const Place place = LoopsOver(g, shape, 0);
  std::vector<Ref> loops = LoopsOf(place);

  KernelMemory memory(g, storage, root, in_place ? states.Before(root) : nullptr);
  Values values(g, memory, static_cast<int32_t>(loops.size()));
  Ref position, valid = g.Bool(true);
  int64_t elems = 0;
  if (in_place) {
    KILN_ASSIGN_OR_RETURN(const Values::Location at, values.LocationOf(root, place));
    position = at.position;
    valid = at.place.valid();
    elems = at.elems;
  } else {
    KILN_ASSIGN_OR_RETURN(position, PositionOf(g, shape, place));
    KILN_ASSIGN_OR_RETURN(elems, ElemsOf(g, shape));
  }
  Ref param = memory.ParamOf(root, elems);
  // A root that is stored is computed; the value of an ASSIGN is read if it is stored itself.
  Ref computed = in_place ? g.Make(Op::kContiguous, value_node->dtype, {value_node}) : root;
  KILN_ASSIGN_OR_RETURN(Ref value, values.At(computed, place));
  if (values.crowded() != nullptr) return Kernel{.root = root, .crowded = values.crowded()};
  KILN_ASSIGN_OR_RETURN(Ref simple, symbolic::Simplify(g, value));

  Ref to = IsIntConst(valid, 1) ? g.Make(Op::kIndex, root->dtype, {param, position})
                                : g.Make(Op::kIndex, root->dtype, {param, position, valid});
  std::vector<Ref> store = {to, simple};
  store.insert(store.end(), loops.begin(), loops.end());
  Ref sink =
      ShareLoops(g, g.Make(Op::kSink, DType::kVoid, {g.Make(Op::kStore, DType::kVoid, store)}));
  return Kernel{root, sink, memory.TakeStates(), NameOf(sink)};
}

bool ReadsElsewhere(const Kernel& kernel) {
  Ref written = kernel.sink->src(0)->src(0);
  return !uop::Visit(kernel.sink, [written](Ref n) {
    return n->op != Op::kLoad || n->src(0)->src(0) != written->src(0) || n->src(0) == written;
  });
}

}  // namespace kiln::schedule::internal
