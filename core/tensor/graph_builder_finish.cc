// What holds of the graph as a whole: slots, variables, writes to inputs, and its end.
#include <algorithm>
#include <utility>

#include "core/rewrite/specs.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/graph_builder_impl.h"
#include "core/uop/facts.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::tensor::internal {
namespace {

std::string NameOf(Ref variable) { return std::string(uop::VariableOf(variable).name); }

}  // namespace

// ** leaves **

absl::Status BuilderState::AddInput(const BuilderCall& call, Ref input, absl::string_view device) {
  const auto [it, is_new] =
      slots_.try_emplace(input->arg.integer(), Slot{input, std::string(device)});
  if (is_new) return absl::OkStatus();
  if (it->second.input != input) {
    return call.Wrong("slot", "input ", input->arg.integer(),
                      " has another shape or dtype before: ", uop::Excerpt(it->second.input));
  }
  if (it->second.device == device) return absl::OkStatus();
  return call.Wrong("device", "input ", input->arg.integer(), " is on \"", it->second.device,
                    "\" before");
}

absl::Status BuilderState::AddVariable(const BuilderCall& call, Ref variable) {
  const auto [it, is_new] = variables_.try_emplace(NameOf(variable), variable);
  if (is_new || it->second == variable) return absl::OkStatus();
  const uop::VariableInfo before = uop::VariableOf(it->second);
  return call.Wrong("name", "variable \"", it->first, "\" has the bounds ", before.min.AsInt(),
                    " and ", before.max.AsInt(), " before");
}

absl::Status BuilderState::AddConstant(const BuilderCall& call) {
  if (++num_constants_ <= limits_.constants) return absl::OkStatus();
  return call.BeyondLimit("value", "constants", limits_.constants);
}

// ** assign **

absl::Status BuilderState::SpendAssignWork(int64_t nodes) {
  if ((assign_work_ += nodes) <= limits_.assign_work) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("writes to inputs: more than the limit of ",
                                                   limits_.assign_work,
                                                   " nodes to visit to see that they are right"));
}

absl::Status BuilderState::CheckReaches(Ref later, Ref earlier) {
  std::vector<Ref> stack = {later};
  reached_.Clear();
  int64_t visited = 0;
  while (!stack.empty()) {
    Ref n = stack.back();
    stack.pop_back();
    ++visited;
    if (n == earlier) return SpendAssignWork(visited);
    for (int i = n->num_src - 1; i >= 0; --i) {  // The target last, so that it comes first.
      Ref s = n->src(i);
      if (s->id < earlier->id || reached_.Get(s)) continue;
      reached_[s] = true;
      stack.push_back(s);
    }
    if (visited > limits_.assign_work) break;
  }
  KILN_RETURN_IF_ERROR(SpendAssignWork(visited));
  return absl::InvalidArgumentError(absl::StrCat(
      "outputs: two writes to one input do not depend on each other: ", uop::Excerpt(earlier, 80),
      " and ", uop::Excerpt(later, 80)));
}

absl::Status BuilderState::CheckAssignOrder(absl::Span<const Ref> nodes) {
  absl::flat_hash_map<uint32_t, Ref> last;
  for (Ref n : nodes) {
    if (!n->Is(Op::kAssign)) continue;
    Ref& before = last[TargetOf(n).slot_plus_1];
    if (before != nullptr) {
      KILN_RETURN_IF_ERROR(CheckReaches(n, before));
    }
    before = n;
  }
  return absl::OkStatus();
}

// ** finish **

void BuilderState::Collect(absl::Span<const Ref> nodes, TensorGraph& out) {
  std::vector<bool> is_assigned;
  for (Ref n : nodes) {
    if (!n->Is(Op::kAssign)) continue;
    const uint32_t slot = TargetOf(n).slot_plus_1 - 1;
    if (slot >= is_assigned.size()) is_assigned.resize(slot + 1);
    is_assigned[slot] = true;
  }
  for (Ref n : nodes) {
    if (n->Is(Op::kInput)) {
      const int64_t slot = n->arg.integer();
      const auto i = static_cast<size_t>(slot);
      out.inputs.push_back({slot,
                            n->dtype,
                            {n->src().begin(), n->src().end()},
                            slots_.at(slot).device,
                            i < is_assigned.size() && is_assigned[i]});
      if (!slots_.at(slot).device.empty()) out.devices.push_back(slots_.at(slot).device);
    } else if (n->Is(Op::kCopy)) {
      const std::string_view device = n->arg.payload().text;
      if (!device.empty()) out.devices.emplace_back(device);
    } else if (n->Is(Op::kShard)) {
      for (std::string& device : DevicesOf(n)) out.devices.push_back(std::move(device));
    }
    if (const auto it = labels_.find(n->id); it != labels_.end()) {
      out.labels.emplace_back(n, it->second);
    }
  }
  std::sort(out.inputs.begin(), out.inputs.end(),
            [](const TensorInput& a, const TensorInput& b) { return a.slot < b.slot; });
  std::sort(out.devices.begin(), out.devices.end());
  out.devices.erase(std::unique(out.devices.begin(), out.devices.end()), out.devices.end());
}

absl::StatusOr<TensorGraph> BuilderState::Finish(absl::Span<const Source> outputs) {
  if (outputs.empty()) return absl::InvalidArgumentError("outputs: there are none");
  if (outputs.size() > uop::kMaxSources) {
    return absl::ResourceExhaustedError(
        absl::StrCat("outputs: more than the limit of ", uop::kMaxSources));
  }
  std::vector<Ref> refs;
  for (const Source& source : outputs) {
    const std::string field = absl::StrCat("outputs[", refs.size(), "]");
    KILN_RETURN_IF_ERROR(source.value().status());
    KILN_ASSIGN_OR_RETURN(Ref n, Get(*source.value()), _ << field);
    if (n->dtype == DType::kIndex) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": node ", NumberOf(*source.value()),
                       " has dtype index, which does not lie in memory"));
    }
    refs.push_back(n);
  }
  TensorGraph out;
  out.sink = graph_->Make(Op::kSink, DType::kVoid, refs);
  KILN_RETURN_IF_ERROR(rewrite::Verify(*graph_, out.sink, rewrite::kTensorSpec));
  const std::vector<Ref> nodes = uop::Toposort(out.sink);
  KILN_RETURN_IF_ERROR(CheckAssignOrder(nodes));
  Collect(nodes, out);
  out.conditions = std::move(conditions_);
  std::vector<Ref> roots = out.conditions;
  roots.push_back(out.sink);
  for (Ref n : uop::Toposort(roots)) {
    if (n->Is(Op::kVariable)) out.variables.push_back(n);
  }
  std::sort(out.variables.begin(), out.variables.end(),
            [](Ref a, Ref b) { return uop::VariableOf(a).name < uop::VariableOf(b).name; });
  out.graph = std::move(graph_);
  return out;
}

}  // namespace kiln::tensor::internal
