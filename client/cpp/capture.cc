#include "client/cpp/capture.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/internal/core.h"
#include "client/cpp/internal/tensor_node.h"

namespace kiln {

namespace client {

// Immutable.
struct CapturedState {
  std::shared_ptr<Core> core;
  EncodedGraph graph;
  std::vector<uint32_t> output_nodes;
  CompiledGraph compiled;
  v1::GraphResult info;
  size_t num_inputs;
  std::vector<NodeRef> leaves;    // By slot from num_inputs on: what it uses besides.
  std::vector<NodeRef> assigned;  // By output: the leaf that it is written to. Null: none.
};

}  // namespace client

namespace {

using client::CapturedState;
using client::NodeRef;

// Which tensor an assignment to `leaf` writes to in a run on `inputs`.
Tensor TargetOf(const CapturedState& state, const NodeRef& leaf,
                const std::vector<Tensor>& inputs) {
  for (size_t slot = 0; slot < state.num_inputs; ++slot) {
    if (state.leaves[slot] == leaf) return inputs[slot];
  }
  return Tensor(leaf);
}

}  // namespace

const v1::GraphResult& CapturedGraph::info() const { return state_->info; }

absl::StatusOr<std::vector<Tensor>> CapturedGraph::Run(const std::vector<Tensor>& inputs,
                                                       const VarVals& var_vals) const {
  const CapturedState& state = *state_;
  if (inputs.size() != state.num_inputs) {
    return absl::InvalidArgumentError(
        absl::StrCat(inputs.size(), " inputs given, the graph has ", state.num_inputs));
  }
  Session session(state.core);
  const auto hold = session.Hold();
  if (absl::Status realized = Realize(inputs); !realized.ok()) return realized;
  std::vector<Binding> bindings;
  for (uint32_t slot = 0; slot < state.leaves.size(); ++slot) {
    const NodeRef& leaf = slot < inputs.size() ? inputs[slot].node() : state.leaves[slot];
    bindings.push_back({slot, leaf->realized()->buffer});
  }
  std::vector<Tensor> results;
  std::vector<Buffer> buffers;
  for (const NodeRef& leaf : state.assigned) {
    buffers.push_back(session.NewBuffer());
    if (leaf != nullptr) {
      results.push_back(TargetOf(state, leaf, inputs));
    } else {
      results.emplace_back(std::make_shared<client::TensorNode>(state.core));
    }
  }
  const bool is_symbolic = !state.info.variables().empty();
  std::optional<Future<v1::GraphResult>> run;
  if (is_symbolic) {  // The answer tells the sizes.
    std::vector<Output> outputs;
    for (size_t i = 0; i < buffers.size(); ++i)
      outputs.push_back({state.output_nodes[i], buffers[i]});
    run = session.Run(state.graph, bindings, outputs, {.var_vals = var_vals});
  } else {
    std::vector<Binding> outputs;
    for (uint32_t i = 0; i < buffers.size(); ++i) outputs.push_back({i, buffers[i]});
    session.Exec(state.compiled, bindings, outputs, {.var_vals = var_vals});
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (state.assigned[i] != nullptr) continue;
    const auto index = static_cast<int>(i);
    client::Realized realized = {.buffer = buffers[i]};
    if (is_symbolic) {
      realized.info = std::nullopt;
      realized.run = run;
      realized.index = index;
    } else {
      realized.info = client::FromProto(state.info.outputs(index));
    }
    results[i].node()->SetRealized(std::move(realized));
  }
  return results;
}

absl::StatusOr<CapturedGraph> Compile(const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& outputs) {
  if (outputs.empty()) return absl::InvalidArgumentError("a captured graph has no outputs");
  const std::shared_ptr<client::Core>& core = outputs[0].node()->core;
  absl::MutexLock lock(&core->realizing());
  std::vector<NodeRef> placeholders, nodes;
  for (const Tensor& input : inputs) placeholders.push_back(input.node());
  for (const Tensor& output : outputs) nodes.push_back(output.node());
  absl::StatusOr<client::LoweredGraph> lowered = client::Lower(nodes, placeholders);
  if (!lowered.ok()) return lowered.status();
  Session session(core);
  EncodedGraph graph(lowered->graph);
  CompiledGraph compiled = session.Compile(graph, lowered->outputs);
  absl::StatusOr<v1::GraphResult> info = compiled.info().Get();
  if (!info.ok()) return info.status();
  if (info->outputs_size() != static_cast<int>(outputs.size())) {
    return absl::InternalError("the server has described another number of outputs");
  }
  auto state = std::make_shared<CapturedState>(CapturedState{
      .core = core,
      .graph = std::move(graph),
      .output_nodes = std::move(lowered->outputs),
      .compiled = std::move(compiled),
      .info = *std::move(info),
      .num_inputs = inputs.size(),
      .leaves = std::move(lowered->leaves),
  });
  for (const NodeRef& node : nodes) state->assigned.push_back(client::AssignedLeaf(*node));
  return CapturedGraph(std::move(state));
}

}  // namespace kiln
