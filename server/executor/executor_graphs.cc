// Graphs: made ready, and run.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/runtime/clock.h"
#include "kiln/v1/graph.pb.h"
#include "server/executor/call.h"
#include "server/executor/executor.h"
#include "server/graph/dtypes.h"

namespace kiln::server {
namespace {

using runtime::Plan;

std::shared_ptr<const GraphText> TextOf(std::string bytes) {
  auto text = std::make_shared<GraphText>();
  text->digest = runtime::DigestOf(bytes);
  text->bytes = std::move(bytes);
  return text;
}

// Bytes of each output for these values of the variables.
absl::StatusOr<std::vector<int64_t>> OutputBytes(const Plan& plan,
                                                 absl::Span<const int64_t> values) {
  KILN_ASSIGN_OR_RETURN(const std::vector<dtype::Scalar> scalars, plan.scalars.Evaluate(values));
  std::vector<int64_t> bytes;
  for (const runtime::PlanOutput& output : plan.outputs) {
    int64_t n = dtype::SizeBytes(output.dtype);
    for (const runtime::SymbolicInt& dim : output.dims) n *= runtime::ValueOf(dim, scalars);
    bytes.push_back(n);
  }
  return bytes;
}

// Values of the plan's variables in its order; InvalidArgument as of a run.
absl::StatusOr<std::vector<int64_t>> ValuesOf(const Plan& plan, const runtime::VarVals& variables) {
  std::vector<int64_t> values;
  for (const runtime::PlanVariable& v : plan.variables) {
    const auto found = variables.find(v.name);
    if (found == variables.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable \"", v.name, "\" has no value; it is in [", v.min, ", ", v.max, "]"));
    }
    if (found->second < v.min || found->second > v.max) {
      return absl::InvalidArgumentError(absl::StrCat("variable \"", v.name, "\" is ", found->second,
                                                     ", not in [", v.min, ", ", v.max, "]"));
    }
    values.push_back(found->second);
  }
  return values;
}

// Whether the thread that submits it may run it: waking the device's thread would take longer.
bool IsShort(const runtime::GraphRunner& runner) {
  constexpr int64_t kShortNs = 50'000;
  const std::optional<int64_t> ns = runner.last_device_ns();
  return ns.has_value() && *ns < kShortNs;
}

void Describe(const runtime::Tensor& tensor, pb::TensorInfo& info) {
  info.set_dtype(ToProto(tensor.dtype));
  for (int64_t d : tensor.dims) info.add_dims(static_cast<uint64_t>(d));
  info.set_device(tensor.buffer->device().name());
}

// What is known before a run: sizes are those for the largest values of the variables.
absl::Status Describe(const Plan& plan, pb::GraphResult& result) {
  std::vector<int64_t> largest;
  for (const runtime::PlanVariable& v : plan.variables) {
    largest.push_back(v.max);
    result.add_variables(v.name);
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<dtype::Scalar> scalars, plan.scalars.Evaluate(largest));
  for (const runtime::PlanOutput& output : plan.outputs) {
    pb::TensorInfo& info = *result.add_outputs();
    info.set_dtype(ToProto(output.dtype));
    for (const runtime::SymbolicInt& dim : output.dims) {
      info.add_dims(static_cast<uint64_t>(runtime::ValueOf(dim, scalars)));
    }
    const int32_t device = plan.buffers[static_cast<size_t>(output.buffer)].device;
    info.set_device(plan.devices[static_cast<size_t>(device)]->name());
  }
  result.set_num_kernels(static_cast<uint32_t>(plan.num_kernels));
  return absl::OkStatus();
}

}  // namespace

// A run with what it is bound to, by id.
struct Executor::GraphCall {
  std::shared_ptr<const ReadyGraph> graph;
  std::vector<pb::Binding> inputs;
  std::vector<uint64_t> outputs;  // Buffers, by position.
  runtime::VarVals variables;
  bool timed = false;
  bool describes = false;  // Answers GraphResult.
  bool cache_hit = true;

  // Filled in on the way.
  std::vector<runtime::Binding> input_bindings, output_bindings;
  std::vector<MemoryRange> written;                  // Inputs that the graph assigns to.
  std::vector<std::optional<MemoryRange>> existing;  // By output: the memory of its buffer.
  std::vector<int64_t> bytes;                        // By output.
};

absl::StatusOr<Executor::Next> Executor::GraphRun(const CallRef& call) {
  pb::GraphRun& command = *call->command.mutable_graph_run();
  if (command.outputs().empty()) return absl::InvalidArgumentError("outputs is empty");
  std::shared_ptr<const GraphText> text;
  switch (command.source_case()) {
    case pb::GraphRun::kGraph:
      text = TextOf(std::move(*command.mutable_graph()));
      break;
    case pb::GraphRun::kGraphHash: {
      KILN_ASSIGN_OR_RETURN(text, graphs_.FindText(command.graph_hash()));
      break;
    }
    default:
      return absl::InvalidArgumentError("one of graph and graph_hash is needed");
  }
  std::vector<uint32_t> nodes;
  GraphCall run = {.inputs = {command.inputs().begin(), command.inputs().end()},
                   .variables = {command.var_vals().begin(), command.var_vals().end()},
                   .timed = command.timed(),
                   .describes = true};
  for (const auto& output : command.outputs()) {
    nodes.push_back(output.node());
    run.outputs.push_back(output.buffer());
  }
  run.graph = graphs_.FindReady(*text, nodes);
  if (run.graph != nullptr) {
    KILN_RETURN_IF_ERROR(RunGraph(call, std::move(run)));
    return Next::kGoOn;
  }
  services_.pool->Post([this, call, text = std::move(text), nodes = std::move(nodes),
                        run = std::move(run)]() mutable {
    const int64_t began_ns = runtime::HostTimeNs();
    absl::Status status;
    auto graph = graphs_.Prepare(*services_.engine, text, nodes, /*captured=*/false);
    if (graph.ok()) {
      run.cache_hit = (*graph)->was_known;
      if (services_.observer != nullptr) {
        services_.observer->OnGraph(session_, run.cache_hit, began_ns, runtime::HostTimeNs());
      }
      run.graph = *std::move(graph);
      status = RunGraph(call, std::move(run));
    } else {
      status = graph.status();
    }
    if (!status.ok()) {
      Poison(call->command, RootOf(call->seq, status));
      call->Done({.status = status});
    }
    call->resume();
  });
  return Next::kWait;
}

absl::StatusOr<Executor::Next> Executor::GraphCompile(const CallRef& call) {
  pb::GraphCompile& command = *call->command.mutable_graph_compile();
  KILN_RETURN_IF_ERROR(graphs_.CheckNew(command.graph()));
  if (command.outputs().empty()) return absl::InvalidArgumentError("outputs is empty");
  std::shared_ptr<const GraphText> text;
  switch (command.source_case()) {
    case pb::GraphCompile::kInlineGraph:
      text = TextOf(std::move(*command.mutable_inline_graph()));
      break;
    case pb::GraphCompile::kGraphHash: {
      KILN_ASSIGN_OR_RETURN(text, graphs_.FindText(command.graph_hash()));
      break;
    }
    default:
      return absl::InvalidArgumentError("one of inline_graph and graph_hash is needed");
  }
  services_.pool->Post([this, call, text = std::move(text)] {
    const int64_t began_ns = runtime::HostTimeNs();
    const pb::GraphCompile& c = call->command.graph_compile();
    CommandOutcome outcome = {.has_result = true};
    const std::vector<uint32_t> nodes(c.outputs().begin(), c.outputs().end());
    const auto graph = graphs_.Prepare(*services_.engine, text, nodes, /*captured=*/true);
    outcome.status = graph.status();
    if (graph.ok()) {
      pb::GraphResult& result = *outcome.result.mutable_graph();
      result.set_cache_hit((*graph)->was_known);
      outcome.status = Describe((*graph)->runner->plan(), result);
      if (services_.observer != nullptr) {
        services_.observer->OnGraph(session_, (*graph)->was_known, began_ns, runtime::HostTimeNs());
      }
    }
    if (outcome.status.ok()) {
      graphs_.Add(c.graph(), *graph);
    } else {
      Poison(call->command, RootOf(call->seq, outcome.status));
    }
    call->Done(std::move(outcome));
    call->resume();
  });
  return Next::kWait;
}

absl::Status Executor::GraphExec(const CallRef& call) {
  const pb::GraphExec& command = call->command.graph_exec();
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<const ReadyGraph> graph, graphs_.Find(command.graph()));
  const size_t num_outputs = graph->runner->plan().outputs.size();
  GraphCall run = {.graph = std::move(graph),
                   .inputs = {command.inputs().begin(), command.inputs().end()},
                   .outputs = std::vector<uint64_t>(num_outputs, 0),
                   .variables = {command.var_vals().begin(), command.var_vals().end()},
                   .timed = command.timed()};
  for (const pb::Binding& output : command.outputs()) {
    if (output.slot() >= num_outputs) {
      return absl::InvalidArgumentError(absl::StrCat("outputs has slot ", output.slot(),
                                                     ", the graph has ", num_outputs, " outputs"));
    }
    run.outputs[output.slot()] = output.buffer();
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    if (run.outputs[i] == 0) {
      return absl::InvalidArgumentError(absl::StrCat("output ", i, " has no buffer"));
    }
  }
  return RunGraph(call, std::move(run));
}

absl::Status Executor::RunGraph(const CallRef& call, GraphCall run) {
  absl::Status status = SubmitGraph(call, run);
  if (!status.ok()) {
    PoisonWritten(run.graph->runner->plan(), run.inputs, RootOf(call->seq, status));
  }
  return status;
}

void Executor::PoisonWritten(const Plan& plan, absl::Span<const pb::Binding> inputs,
                             const Failure& failure) {
  for (const runtime::PlanInput& input : plan.inputs) {
    if (!input.is_written) continue;
    for (const pb::Binding& binding : inputs) {
      if (binding.slot() != input.slot) continue;
      const absl::StatusOr<MemoryRange> range = memory_.FindWritable(binding.buffer());
      if (range.ok()) range->allocation->Poison(failure);
    }
  }
}

absl::Status Executor::BindInputs(const CallRef& call, GraphCall& run) {
  const Plan& plan = run.graph->runner->plan();
  for (const pb::Binding& binding : run.inputs) {
    KILN_ASSIGN_OR_RETURN(MemoryRange range, memory_.FindReadable(binding.buffer()),
                          _ << "input " << binding.slot());
    for (const runtime::PlanInput& input : plan.inputs) {
      if (input.slot != binding.slot() || !input.is_written) continue;
      KILN_RETURN_IF_ERROR(memory_.FindWritable(binding.buffer()).status());
      run.written.push_back(range);
    }
    call->reads.push_back(
        {absl::StrCat("buffer ", binding.buffer()), range.allocation->contents()});
    run.input_bindings.push_back({.slot = binding.slot(),
                                  .buffer = range.allocation->buffer(),
                                  .offset = range.offset,
                                  .bytes = range.bytes});
  }
  std::sort(run.input_bindings.begin(), run.input_bindings.end(),
            [](const auto& a, const auto& b) { return a.slot < b.slot; });
  return absl::OkStatus();
}

absl::Status Executor::BindOutputs(GraphCall& run) {
  const Plan& plan = run.graph->runner->plan();
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ValuesOf(plan, run.variables));
  KILN_ASSIGN_OR_RETURN(run.bytes, OutputBytes(plan, values));
  run.existing.resize(run.outputs.size());
  int64_t new_bytes = 0;
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const uint64_t id = run.outputs[i];
    const auto so_far = run.outputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(run.outputs.begin(), so_far, id) != so_far) {
      return absl::InvalidArgumentError(absl::StrCat("buffer ", id, " is to hold two outputs"));
    }
    if (!memory_.Has(id)) {
      KILN_RETURN_IF_ERROR(memory_.CheckNew(id));
      new_bytes += run.bytes[i];
      continue;
    }
    KILN_ASSIGN_OR_RETURN(run.existing[i], memory_.FindWritable(id), _ << "output " << i);
    run.output_bindings.push_back({.slot = static_cast<int64_t>(i),
                                   .buffer = run.existing[i]->allocation->buffer(),
                                   .offset = run.existing[i]->offset,
                                   .bytes = run.existing[i]->bytes});
  }
  for (int64_t n : plan.arena_bytes) new_bytes += n;
  return memory_.CheckBytes(new_bytes);
}

// Gives the outputs of a run that was submitted their ids. Outputs that are equal share memory in the
// engine's eyes; here each has its own.
absl::Status Executor::KeepOutputs(const CallRef& call, const GraphCall& run,
                                   const runtime::RunResult& result,
                                   std::vector<runtime::Dependency>& done) {
  const auto copy = [&](const std::shared_ptr<runtime::Buffer>& to, int64_t offset, size_t i) {
    const runtime::Tensor& from = result.outputs[i];
    absl::StatusOr<runtime::Dependency> copied =
        services_.engine->Copy(*stream_, {to, offset}, {from.buffer, from.offset}, run.bytes[i]);
    if (copied.ok()) done.push_back(*std::move(copied));
    return copied.status();
  };
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    std::shared_ptr<runtime::Buffer> buffer = result.outputs[i].buffer;
    if (run.existing[i].has_value()) {
      const MemoryRange& range = *run.existing[i];
      call->writes.push_back(
          range.allocation->BeginWrite(range.is_whole() && range.bytes == run.bytes[i]));
      if (buffer != range.allocation->buffer()) {
        KILN_RETURN_IF_ERROR(copy(range.allocation->buffer(), range.offset, i));
      }
      continue;
    }
    const auto begin = result.outputs.begin();
    if (std::any_of(begin, begin + static_cast<std::ptrdiff_t>(i),
                    [&](const runtime::Tensor& t) { return t.buffer == buffer; })) {
      KILN_ASSIGN_OR_RETURN(buffer,
                            services_.engine->Allocate(buffer->device().name(), run.bytes[i]));
      KILN_RETURN_IF_ERROR(copy(buffer, 0, i));
    }
    auto allocation = std::make_shared<Allocation>(std::move(buffer), run.bytes[i]);
    call->writes.push_back(allocation->BeginWrite(/*is_full=*/true));
    memory_.Add(run.outputs[i], {.allocation = std::move(allocation),
                                 .charge = memory_.NewCharge(run.bytes[i]),
                                 .bytes = run.bytes[i]});
  }
  return absl::OkStatus();
}

absl::Status Executor::SubmitGraph(const CallRef& call, GraphCall& run) {
  const Plan& plan = run.graph->runner->plan();
  KILN_RETURN_IF_ERROR(BindInputs(call, run));
  KILN_RETURN_IF_ERROR(BindOutputs(run));
  KILN_ASSIGN_OR_RETURN(const runtime::RunResult result,
                        run.graph->runner->Run({.inputs = run.input_bindings,
                                                .variables = run.variables,
                                                .outputs = run.output_bindings,
                                                .stream = stream_.get(),
                                                .run_here_if_idle = IsShort(*run.graph->runner)}));
  const int64_t estimate_ns = run.graph->runner->last_device_ns().value_or(0);
  auto queued = std::make_shared<Charge>(queued_device_ns_, estimate_ns);
  for (const MemoryRange& range : run.written) {
    call->writes.push_back(range.allocation->BeginWrite(/*is_full=*/false));
  }
  std::vector<runtime::Dependency> done = result.done;
  KILN_RETURN_IF_ERROR(KeepOutputs(call, run, result, done));

  CommandOutcome outcome = {.has_result = run.describes || run.timed};
  if (run.describes) {
    pb::GraphResult& message = *outcome.result.mutable_graph();
    for (const runtime::Tensor& tensor : result.outputs) Describe(tensor, *message.add_outputs());
    message.set_num_kernels(static_cast<uint32_t>(plan.num_kernels));
    message.set_cache_hit(run.cache_hit);
    message.set_peak_bytes(static_cast<uint64_t>(result.peak_bytes));
    for (const runtime::PlanVariable& v : plan.variables) message.add_variables(v.name);
  }
  WhenPassed(std::move(done), [call, outcome = std::move(outcome), timed = run.timed,
                               queued = std::move(queued), result](absl::Status status) mutable {
    queued.reset();
    outcome.status = std::move(status);
    if (timed && outcome.status.ok()) {
      const auto ns = static_cast<uint64_t>(result.device_ns());
      if (outcome.result.has_graph()) {
        outcome.result.mutable_graph()->set_device_ns(ns);
      } else {
        outcome.result.mutable_graph_exec()->set_device_ns(ns);
      }
    }
    call->Done(std::move(outcome));
  });
  return absl::OkStatus();
}

}  // namespace kiln::server
