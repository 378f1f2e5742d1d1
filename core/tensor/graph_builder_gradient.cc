// GRADIENT, which is expanded into primitives at once.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/tensor/graph_builder_impl.h"
#include "core/uop/facts.h"

namespace kiln::tensor {

using internal::BuilderCall;

absl::StatusOr<Value> GraphBuilder::Gradient(const Source& y, const std::optional<Source>& seed,
                                             absl::Span<const Source> xs, int64_t which) {
  return impl_->Add(Op::kGradient, [&](BuilderCall& call) -> absl::StatusOr<Ref> {
    KILN_ASSIGN_OR_RETURN(Ref of, call.Tensor("y", y));
    KILN_RETURN_IF_ERROR(call.CheckFloat("y", of));
    Ref weights = nullptr;
    if (seed.has_value()) {
      KILN_ASSIGN_OR_RETURN(weights, call.Tensor("seed", *seed));
      if (weights->dtype != of->dtype) return call.Wrong("seed", "its dtype is not that of y");
      KILN_ASSIGN_OR_RETURN(weights, call.WithShapeOf("seed", weights, of));
    }
    Ref to = nullptr;
    for (size_t i = 0; i < xs.size(); ++i) {
      if (static_cast<int64_t>(i) != which) {
        KILN_RETURN_IF_ERROR(call.Tensor("xs", xs[i]));
        continue;
      }
      const std::string field = absl::StrCat("xs[", i, "]");
      KILN_ASSIGN_OR_RETURN(to, call.Tensor(field, xs[i]));
      KILN_RETURN_IF_ERROR(call.CheckFloat(field, to));
    }
    if (to == nullptr) return call.Wrong("which", "no x ", which, ", there are ", xs.size());
    return impl_->Gradient(call, of, weights, to);
  });
}

namespace internal {
namespace {

// Several are kept because gradients of several ys may come in turn.
constexpr size_t kAdjointsKept = 4;

}  // namespace

absl::Status BuilderCall::CheckFloat(std::string_view field, Ref n) const {
  if (dtype::IsFloat(n->dtype)) return absl::OkStatus();
  const std::string_view name = dtype::Name(n->dtype);
  return Wrong(field, "its dtype is ", absl::string_view(name.data(), name.size()),
               ", and gradients are of floats");
}

absl::StatusOr<Adjoints*> BuilderState::AdjointsOf(Ref y, Ref seed) {
  const auto is_it = [&](const std::unique_ptr<Adjoints>& a) {
    return a->y() == y && a->seed() == seed;
  };
  const auto it = std::find_if(adjoints_.begin(), adjoints_.end(), is_it);
  if (it != adjoints_.end()) {
    std::rotate(it, it + 1, adjoints_.end());
    return adjoints_.back().get();
  }
  GradientOptions options = {.budget = &gradient_budget_, .device_of = [this](Ref input) {
                               return slots_.at(input->arg.integer()).device;
                             }};
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Adjoints> made,
                        Adjoints::Make(*graph_, y, seed, std::move(options)));
  if (adjoints_.size() == kAdjointsKept) adjoints_.erase(adjoints_.begin());
  adjoints_.push_back(std::move(made));
  return adjoints_.back().get();
}

absl::StatusOr<Ref> BuilderState::Gradient(BuilderCall& call, Ref y, Ref seed, Ref x) {
  if (seed == nullptr) seed = OnesLike(*graph_, y);
  absl::StatusOr<Ref> adjoint;
  if (gradient_budget_.visits >= 0 && gradient_budget_.nodes >= 0) {
    const auto adjoints = AdjointsOf(y, seed);
    adjoint = adjoints.ok() ? (*adjoints)->Of(x) : adjoints.status();
  }
  if (gradient_budget_.visits < 0) {
    return call.BeyondLimit("op", "nodes that are differentiated", limits_.gradient_visits);
  }
  if (gradient_budget_.nodes < 0) {
    return call.BeyondLimit("op", "nodes that gradients consist of", limits_.gradient_nodes);
  }
  if (!adjoint.ok()) return call.In("op", adjoint.status());
  KILN_RETURN_IF_ERROR(NoteBelow(call, seed));
  KILN_RETURN_IF_ERROR(NoteBelow(call, *adjoint));
  return adjoint;
}

absl::Status BuilderState::NoteBelow(BuilderCall& call, Ref root) {
  std::vector<Ref> found;
  uop::NodeMap<bool> seen;
  const auto see = [&](Ref n) {
    if (n->dtype == DType::kIndex || noted_.Get(n) || seen.Get(n)) return;
    seen[n] = true;
    found.push_back(n);
  };
  see(root);
  for (size_t i = 0; i < found.size(); ++i) {
    for (Ref s : found[i]->src()) see(s);
  }
  std::sort(found.begin(), found.end(), [](Ref a, Ref b) { return a->id < b->id; });
  for (Ref n : found) {
    KILN_RETURN_IF_ERROR(Note(call, n));
  }
  return absl::OkStatus();
}

}  // namespace internal
}  // namespace kiln::tensor
