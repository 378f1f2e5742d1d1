// run: one graph, once, with arrays in files.
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "client/cpp/ctl/command.h"
#include "client/cpp/ctl/graph_file.h"
#include "client/cpp/ctl/npy.h"
#include "client/cpp/ctl/output.h"
#include "client/cpp/dtype.h"
#include "client/cpp/session.h"

namespace kiln::ctl {
namespace {

struct RunFlags {
  std::string graph;
  std::vector<std::string> inputs, outputs, variables;
  bool fast_math = false;
};

// The command line, understood.
struct Plan {
  v1::Graph graph;
  struct Input {
    uint32_t slot = 0;
    std::string device;
    NpyArray array;
  };
  std::vector<Input> inputs;
  struct Output {
    uint32_t node = 0;
    std::string path;
  };
  std::vector<Output> outputs;
  VarVals var_vals;
};

absl::Status ReadVariables(const RunFlags& flags, Plan& plan) {
  for (const std::string& text : flags.variables) {
    const auto pair = SplitPair(text, "--var NAME=VALUE");
    if (!pair.ok()) return pair.status();
    int64_t value;
    if (!absl::SimpleAtoi(pair->second, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--var ", SafeText(text), ": the value should be an integer"));
    }
    if (!plan.var_vals.emplace(pair->first, value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--var ", SafeText(pair->first), " is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadInputs(const RunFlags& flags, Plan& plan) {
  std::set<uint32_t> given;
  for (const std::string& text : flags.inputs) {
    const auto pair = SplitPair(text, "--input SLOT=FILE.npy (the graph comes before --input)");
    if (!pair.ok()) return pair.status();
    uint32_t slot;
    if (!absl::SimpleAtoi(pair->first, &slot)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", SafeText(text), ": the slot should be a number"));
    }
    if (!given.insert(slot).second) {
      return absl::InvalidArgumentError(absl::StrCat("--input for slot ", slot, " is given twice"));
    }
    absl::StatusOr<const v1::Node*> node = InputOfSlot(plan.graph, slot);
    if (!node.ok()) return node.status();
    absl::StatusOr<NpyArray> array = ReadNpy(pair->second);
    if (!array.ok()) return array.status();
    absl::Status status = CheckInput(plan.graph, **node, array->header, plan.var_vals);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(pair->second, " for slot ", slot, " ", status.message()));
    }
    plan.inputs.push_back({slot, (*node)->input().device(), *std::move(array)});
  }
  return absl::OkStatus();
}

absl::StatusOr<Plan> MakePlan(const RunFlags& flags) {
  absl::StatusOr<v1::Graph> graph = ReadGraph(flags.graph);
  if (!graph.ok()) return graph.status();
  Plan plan;
  plan.graph = *std::move(graph);
  absl::Status status = ReadVariables(flags, plan);
  if (!status.ok()) return status;
  for (const std::string& text : flags.outputs) {
    const auto pair = SplitPair(text, "--output NODE=FILE.npy");
    if (!pair.ok()) return pair.status();
    absl::StatusOr<uint32_t> node = FindNode(plan.graph, pair->first);
    if (!node.ok()) return node.status();
    plan.outputs.push_back({*node, pair->second});
  }
  status = ReadInputs(flags, plan);
  if (!status.ok()) return status;
  return plan;
}

// What a failed command says, with the one that has caused it.
absl::Status WithCause(const absl::Status& status) {
  const std::optional<FailureDetails> details = DetailsOf(status);
  if (!details || !details->cause) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; cause: ", details->cause->message));
}

// Uploads say how far they are, from whatever thread.
class CopyProgress {
 public:
  explicit CopyProgress(const char* what) : what_(what) {}
  Progress Callback() {
    return [this](size_t done, size_t bytes) {
      if (is_busy_.exchange(true)) return;  // Somebody else is writing the line.
      line_.Show(absl::StrCat(what_, " ", BytesText(done), " of ", BytesText(bytes)));
      is_busy_ = false;
    };
  }

 private:
  const char* const what_;
  ProgressLine line_;
  std::atomic<bool> is_busy_ = false;
};

absl::StatusOr<std::vector<Binding>> Upload(Session& session, const Plan& plan) {
  std::vector<Binding> bindings;
  std::vector<Future<void>> copies;
  CopyProgress progress("sending");
  for (const Plan::Input& input : plan.inputs) {
    Buffer buffer = session.Alloc(input.array.header.data_bytes, input.device);
    copies.push_back(session.CopyIn(buffer, 0, input.array.bytes(), progress.Callback()));
    bindings.push_back({input.slot, std::move(buffer)});
  }
  absl::Status first;
  for (const Future<void>& copy : copies) first.Update(copy.Get());
  if (!first.ok()) return WithCause(first);
  return bindings;
}

absl::Status Download(Session& session, const Plan::Output& output, const Buffer& buffer,
                      const v1::TensorInfo& info) {
  const std::vector<uint64_t> dims(info.dims().begin(), info.dims().end());
  const absl::StatusOr<uint64_t> bytes = ArrayBytes(SizeBytes(info.dtype()), dims);
  if (!bytes.ok()) {
    return absl::InternalError(
        absl::StrCat("kilnd says that node ", output.node, " ", bytes.status().message()));
  }
  const std::unique_ptr<std::byte[]> data(new std::byte[*bytes]);
  CopyProgress progress("fetching");
  absl::Status status =
      session.CopyOut(buffer, 0, absl::MakeSpan(data.get(), *bytes), progress.Callback()).Get();
  if (!status.ok()) return WithCause(status);
  status = WriteNpy(output.path, info.dtype(), dims, absl::MakeConstSpan(data.get(), *bytes));
  if (!status.ok()) return status;
  std::printf("node %u -> %s  %s [%s]\n", output.node, output.path.c_str(),
              DTypeName(info.dtype()).c_str(), absl::StrJoin(dims, ", ").c_str());
  return absl::OkStatus();
}

absl::Status RunGraph(Session& session, const Plan& plan) {
  absl::StatusOr<std::vector<Binding>> inputs = Upload(session, plan);
  if (!inputs.ok()) return inputs.status();
  std::vector<Output> outputs;
  for (const Plan::Output& output : plan.outputs) {
    outputs.push_back({output.node, session.NewBuffer()});
  }
  absl::StatusOr<v1::GraphResult> result = session
                                               .Run(EncodedGraph(plan.graph), *inputs, outputs,
                                                    {.var_vals = plan.var_vals, .timed = true})
                                               .Get();
  if (!result.ok()) return WithCause(result.status());
  if (static_cast<size_t>(result->outputs_size()) != outputs.size()) {
    return absl::InternalError(absl::StrCat("kilnd describes ", result->outputs_size(),
                                            " outputs: should be ", outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    absl::Status status =
        Download(session, plan.outputs[i], outputs[i].buffer, result->outputs(static_cast<int>(i)));
    if (!status.ok()) return status;
  }
  std::printf("%u kernels, %.1f us on the device, %s of outputs and temporaries%s\n",
              result->num_kernels(), static_cast<double>(result->device_ns()) / 1000,
              BytesText(result->peak_bytes()).c_str(), result->cache_hit() ? ", known graph" : "");
  return session.Close();
}

absl::Status Run(const Invocation& invocation, const RunFlags& flags) {
  absl::StatusOr<Plan> plan = MakePlan(flags);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<Server> server = invocation.Connect();
  if (!server.ok()) return server.status();
  absl::StatusOr<Session> session = Session::Connect(
      invocation.address, {.client_name = "kilnctl run", .fast_math = flags.fast_math});
  if (!session.ok()) return server->Explain(session.status());
  return RunGraph(*session, *plan);
}

}  // namespace

void AddRunCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* run = app.add_subcommand("run", "runs a graph on arrays in .npy files");
  auto flags = std::make_shared<RunFlags>();
  run->add_option("GRAPH.json", flags->graph, "kiln.v1.Graph (graph.proto) as proto3 JSON")
      ->required();
  run->add_option("--input", flags->inputs, "array of an input slot")->type_name("SLOT=FILE.npy");
  run->add_option("--output", flags->outputs, "where the value of a node goes, by number or label")
      ->required()
      ->type_name("NODE=FILE.npy");
  run->add_option("--var", flags->variables, "value of a variable")->type_name("NAME=INTEGER");
  run->add_flag("--fast-math", flags->fast_math, "floats may be reassociated and approximated");
  run->footer(
      R"(Arrays are row-major (C order). bfloat16 and float8 are raw elements, as ml_dtypes saves them.

Example: x + x, for four floats
  echo '{"nodes": [
    {"op": "OP_INPUT", "dtype": "DTYPE_FLOAT32", "input": {"slot": 0, "dims": [{"value": 4}]}},
    {"op": "OP_ADD", "src": [0, 0], "label": "sum"}]}' > twice.json
  python3 -c 'import numpy; numpy.save("x.npy", numpy.arange(4, dtype="float32"))'
  kilnctl run twice.json --input 0=x.npy --output sum=y.npy)");
  run->callback([&invocation, flags] {
    invocation.action = [&invocation, flags] { return Run(invocation, *flags); };
  });
}

}  // namespace kiln::ctl
