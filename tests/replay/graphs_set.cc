// The set `graphs`: whole tensor graphs, from the contents of their inputs to those of their outputs.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "tests/replay/fixture_dtype.h"
#include "tests/replay/graphs_compare.h"
#include "tests/replay/graphs_data.h"
#include "tests/replay/graphs_executor.h"
#include "tests/replay/graphs_import.h"
#include "tests/replay/sets.h"
#include "tests/replay/value.h"
#include "tests/support/strided_copy.h"

namespace kiln::replay {
namespace {

using support::TensorArray;
using support::TensorResults;
using support::TensorRun;

constexpr const char* kNames[] = {"decode", "dtype",  "indexing", "models",   "multi",    "nn",
                                  "ops",    "random", "refused",  "schedule", "symbolic", "tensor"};

absl::StatusOr<TensorRun> RunOf(const Json& record, const ImportedGraph& graph,
                                const GraphData& data) {
  TensorRun run;
  const Json& inputs = record.at("inputs");
  for (size_t slot = 0; slot < graph.inputs.size(); ++slot) {
    const ImportedInput& input = graph.inputs[slot];
    const Json& entry = inputs.at(absl::StrCat(input.node));
    const Json& array = input.shard.has_value() ? entry.at("shards").at(*input.shard) : entry;
    KILN_ASSIGN_OR_RETURN(run.inputs[static_cast<int64_t>(slot)],
                          data.Input(array, input.dtype, input.elems), _ << "input " << input.node);
  }
  for (const auto& [name, value] : record.at("var_vals").items()) {
    KILN_ASSIGN_OR_RETURN(run.var_vals[name], ParseInt64(value));
  }
  return run;
}

// Shards along an axis as one array. Pre: they differ in size along the axis only.
TensorArray Concatenate(absl::Span<const TensorArray> shards, size_t axis) {
  TensorArray whole = shards[0];
  if (shards.size() == 1) return whole;
  for (const TensorArray& s : shards.subspan(1)) {
    whole.shape[axis] += s.shape[axis];
    whole.bytes.resize(whole.bytes.size() + s.bytes.size());
  }
  const auto elem = static_cast<size_t>(dtype::SizeBytes(whole.dtype));
  support::Walk to{0, support::RowMajorStrides(whole.shape)};
  for (const TensorArray& s : shards) {
    const support::Walk from{0, support::RowMajorStrides(s.shape)};
    support::ForEachPair(s.shape, to, from, [&](int64_t i, int64_t j) {
      std::copy_n(&s.bytes[static_cast<size_t>(j) * elem], elem,
                  &whole.bytes[static_cast<size_t>(i) * elem]);
    });
    to.offset += s.shape[axis] * to.strides[axis];
  }
  return whole;
}

absl::Status CompareOutputs(const Json& record, const ImportedGraph& graph,
                            const TensorResults& results, const GraphData& data, Tolerance t) {
  const Json& expect = record.at("expect");
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const ImportedOutput& output = graph.outputs[k];
    const absl::Span<const TensorArray> all = results.outputs;
    KILN_RETURN_IF_ERROR(
        CompareArray(Concatenate(all.subspan(output.first, output.count), output.axis),
                     expect.at(absl::StrCat(k)), data, t))
        << "output " << k;
  }
  return absl::OkStatus();
}

absl::Status CompareBuffers(const Json& record, const ImportedGraph& graph,
                            const TensorResults& results, const GraphData& data, Tolerance t) {
  if (!record.contains("expect_buffers")) return absl::OkStatus();
  size_t checked = 0;
  for (size_t slot = 0; slot < graph.inputs.size(); ++slot) {
    const ImportedInput& input = graph.inputs[slot];
    const auto entry = record.at("expect_buffers").find(absl::StrCat(input.node));
    if (entry == record.at("expect_buffers").end()) continue;
    const auto got = results.assigned.find(static_cast<int64_t>(slot));
    if (got == results.assigned.end()) {
      return absl::FailedPreconditionError(absl::StrCat("buffer ", input.node, " is not written"));
    }
    Json expect = *entry;
    if (input.shard.has_value()) {
      expect.update(entry->at("shards").at(*input.shard));
    }
    KILN_RETURN_IF_ERROR(
        CompareArray(TensorArray{input.dtype, {input.elems}, got->second}, expect, data, t))
        << "buffer " << input.node;
    ++checked;
  }
  if (checked >= record.at("expect_buffers").size()) return absl::OkStatus();
  return absl::InvalidArgumentError("expect_buffers names a node that is no BUFFER");
}

// Records whose expected value is not what WIRE.md's "Values" say, and why.
const std::map<std::string, std::string>& Disputed() {
  static const auto* disputed = new std::map<std::string, std::string>{
      {"test_dtype_alu::test_float_midcast_int32::24",
       "expects infinity as int32 to be the smallest value; it saturates to the largest"},
  };
  return *disputed;
}

class GraphsSet final : public FixtureSet {
 public:
  explicit GraphsSet(const SetOptions& options) : options_(options) {}

  std::string_view name() const override { return "graphs"; }
  std::vector<std::string> files() const override {
    std::vector<std::string> files;
    for (const char* name : kNames) files.push_back(absl::StrCat("graphs/", name));
    return files;
  }

  absl::Status Open(const std::string& path) override {
    file_ = path.substr(path.rfind('/') + 1);
    KILN_ASSIGN_OR_RETURN(data_, GraphData::Open(path));
    if (executor_ == nullptr) {
      KILN_ASSIGN_OR_RETURN(executor_, MakeExecutor(options_.on, options_.cache_folder));
    }
    return absl::OkStatus();
  }

  Result Run(const Record& record) override {
    if (executor_ == nullptr) return Fail("no file was opened");
    Result result = Replay(record);
    ++counts_[{file_, result.outcome}];
    return result;
  }

  std::vector<std::string> Summary() const override {
    std::vector<std::string> lines;
    for (const char* name : kNames) {
      const auto count = [&](Result::Outcome outcome) -> int64_t {
        const auto it = counts_.find({name, outcome});
        return it == counts_.end() ? 0 : it->second;
      };
      const int64_t passed = count(Result::Outcome::kPass), failed = count(Result::Outcome::kFail),
                    skipped = count(Result::Outcome::kSkip);
      if (passed + failed + skipped == 0) continue;
      lines.push_back(
          absl::StrCat(name, ": ", passed, " passed, ", failed, " failed, ", skipped, " skipped"));
    }
    for (const std::string& line : fragile_) lines.push_back(line);
    return lines;
  }

 private:
  Result Replay(const Record& record) {
    const Json& json = record.json;
    const bool may_refuse = json.contains("error");
    const int64_t macs = may_refuse ? 0 : json.at("macs").get<int64_t>();
    const int64_t most = options_.max_macs >= 0 ? options_.max_macs : executor_->max_macs();
    if (macs > most) return Skip(absl::StrCat("more than ", most, " multiply-adds"));
    const absl::Status status = Status(json);
    if (status.ok()) return Pass();
    const bool is_wrong = absl::IsFailedPrecondition(status);
    if (may_refuse && !is_wrong) return Pass("refused");
    if (const auto it = Disputed().find(record.id); is_wrong && it != Disputed().end()) {
      return Pass(absl::StrCat("disputed, and not as expected: ", it->second));
    }
    if (is_wrong && json.value("fragile", false)) {
      fragile_.push_back(absl::StrCat("fragile: ", record.id, ": ", status.message()));
      return Pass("fragile, and not within the tolerance");
    }
    return ResultOf(status);
  }

  absl::Status Status(const Json& json) {
    KILN_ASSIGN_OR_RETURN(const ImportedGraph graph, ImportGraph(json));
    KILN_ASSIGN_OR_RETURN(const TensorRun run, RunOf(json, graph, data_));
    KILN_ASSIGN_OR_RETURN(const TensorResults results, executor_->Run(graph.graph, run));
    if (!json.contains("expect")) {
      return absl::FailedPreconditionError("neither refused nor expected");
    }
    Tolerance tolerance;
    KILN_ASSIGN_OR_RETURN(tolerance.rtol, ParseDouble(json.at("rtol")));
    KILN_ASSIGN_OR_RETURN(tolerance.atol, ParseDouble(json.at("atol")));
    KILN_RETURN_IF_ERROR(CompareOutputs(json, graph, results, data_, tolerance));
    return CompareBuffers(json, graph, results, data_, tolerance);
  }

  const SetOptions options_;
  std::unique_ptr<GraphExecutor> executor_;
  std::string file_;
  GraphData data_;
  std::map<std::pair<std::string, Result::Outcome>, int64_t> counts_;
  std::vector<std::string> fragile_;
};

}  // namespace

std::unique_ptr<FixtureSet> MakeGraphsSet(const SetOptions& options) {
  return std::make_unique<GraphsSet>(options);
}

}  // namespace kiln::replay
