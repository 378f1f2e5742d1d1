// Running graphs.
#include <utility>

#include "client/cpp/internal/core.h"
#include "client/cpp/session.h"

namespace kiln {
namespace {

using client::Core;
using client::Reply;

absl::StatusOr<v1::GraphResult> GraphResultOf(const v1::Result& result) {
  if (!result.has_graph()) return absl::InternalError("the server has sent no result of a graph");
  return result.graph();
}

absl::StatusOr<v1::GraphExecResult> ExecResultOf(const v1::Result& result) {
  return result.graph_exec();  // Absent unless timed.
}

void SetGraph(v1::GraphRun& run, const EncodedGraph& graph, bool by_hash) {
  by_hash ? run.set_graph_hash(graph.hash()) : run.set_graph(graph.bytes());
}
void SetGraph(v1::GraphCompile& compile, const EncodedGraph& graph, bool by_hash) {
  by_hash ? compile.set_graph_hash(graph.hash()) : compile.set_inline_graph(graph.bytes());
}

// Sends `command`, in which `part` takes the graph: by its hash if the server has seen it. A server
// that has forgotten it gets it again. That is done at once, unless other commands have been given
// meanwhile: they may depend on this one, so it is for the caller to do again what has failed.
template <typename Part>
void SubmitGraph(Core& core, v1::Command& command, Part* (v1::Command::*part)(),
                 const EncodedGraph& graph, const std::shared_ptr<Reply>& reply) {
  const bool by_hash = core.seen_graphs().Has(graph.hash());
  SetGraph(*(command.*part)(), graph, by_hash);
  if (!by_hash) {
    reply->set_sink([weak = core.weak_from_this(), graph](absl::Status& status, v1::Result&) {
      if (const auto self = weak.lock(); self != nullptr && status.ok()) {
        self->seen_graphs().Add(graph.hash(), graph.bytes().size());
      }
      return true;
    });
  } else {
    reply->set_sink([weak = core.weak_from_this(), command, part, graph, reply_of = reply.get(),
                     again = std::weak_ptr<Reply>(reply),
                     tried = false](absl::Status& status, v1::Result&) mutable {
      const auto self = weak.lock();
      const std::optional<FailureDetails> details = DetailsOf(status);
      if (self == nullptr || tried || !details.has_value() || !details->graph_is_unknown) {
        return true;
      }
      tried = true;
      self->seen_graphs().Forget(graph.hash());
      SetGraph(*(command.*part)(), graph, false);
      return !self->SubmitAfter(reply_of->seq(), command, again.lock());
    });
  }
  core.Submit(command, reply);
}

void Fill(const VarVals& from, google::protobuf::Map<std::string, google::protobuf::int64>& to) {
  for (const auto& [name, value] : from) to[name] = value;
}

}  // namespace

Future<v1::GraphResult> CompiledGraph::info() const {
  return Future<v1::GraphResult>(state_->made, GraphResultOf);
}

Future<v1::GraphResult> Session::Run(const EncodedGraph& graph, absl::Span<const Binding> inputs,
                                     absl::Span<const Output> outputs, const RunOptions& options) {
  v1::Command command;
  v1::GraphRun& run = *command.mutable_graph_run();
  for (const Binding& input : inputs) {
    v1::Binding& binding = *run.add_inputs();
    binding.set_slot(input.slot);
    binding.set_buffer(input.buffer.id());
  }
  for (const Output& output : outputs) {
    v1::GraphRun::Output& to = *run.add_outputs();
    to.set_node(output.node);
    to.set_buffer(output.buffer.id());
  }
  Fill(options.var_vals, *run.mutable_var_vals());
  run.set_timed(options.timed);
  auto reply = std::make_shared<Reply>();
  SubmitGraph(*core_, command, &v1::Command::mutable_graph_run, graph, reply);
  return Future<v1::GraphResult>(std::move(reply), GraphResultOf);
}

CompiledGraph Session::Compile(const EncodedGraph& graph, absl::Span<const uint32_t> outputs) {
  auto state = std::make_shared<client::CompiledState>();
  state->core = core_;
  state->id = core_->NewId();
  state->made = std::make_shared<Reply>();
  v1::Command command;
  v1::GraphCompile& compile = *command.mutable_graph_compile();
  compile.set_graph(state->id);
  for (const uint32_t node : outputs) compile.add_outputs(node);
  SubmitGraph(*core_, command, &v1::Command::mutable_graph_compile, graph, state->made);
  return CompiledGraph(std::move(state));
}

Future<v1::GraphExecResult> Session::Exec(const CompiledGraph& graph,
                                          absl::Span<const Binding> inputs,
                                          absl::Span<const Binding> outputs,
                                          const RunOptions& options) {
  v1::Command command;
  v1::GraphExec& exec = *command.mutable_graph_exec();
  exec.set_graph(graph.id());
  for (const auto& [from, to] :
       {std::pair(inputs, exec.mutable_inputs()), std::pair(outputs, exec.mutable_outputs())}) {
    for (const Binding& binding : from) {
      v1::Binding& b = *to->Add();
      b.set_slot(binding.slot);
      b.set_buffer(binding.buffer.id());
    }
  }
  Fill(options.var_vals, *exec.mutable_var_vals());
  exec.set_timed(options.timed);
  auto reply = std::make_shared<Reply>();
  core_->Submit(command, reply);
  return Future<v1::GraphExecResult>(std::move(reply), ExecResultOf);
}

}  // namespace kiln
