#include "client/cpp/ctl/graph_file.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/ctl/output.h"

namespace kiln::ctl {
namespace {

constexpr std::streamoff kMaxGraphFileBytes = std::streamoff{512} << 20;

// The size as a number, where it can be told.
std::optional<int64_t> SizeOf(const v1::Graph& graph, const v1::Dim& dim,
                              const std::map<std::string, int64_t>& var_vals) {
  if (dim.has_value()) return dim.value();
  if (!dim.has_node() || dim.node() >= static_cast<uint32_t>(graph.nodes_size())) {
    return std::nullopt;
  }
  const v1::Node& node = graph.nodes(static_cast<int>(dim.node()));
  if (node.has_variable()) {
    const auto found = var_vals.find(node.variable().name());
    if (found != var_vals.end()) return found->second;
  }
  if (node.has_constant() && node.constant().has_int_value()) return node.constant().int_value();
  return std::nullopt;
}

}  // namespace

absl::StatusOr<v1::Graph> ReadGraph(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("can't open ", path));
  file.seekg(0, std::ios::end);
  const std::streamoff bytes = file.tellg();
  if (bytes > kMaxGraphFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has ", bytes, " bytes: a graph in JSON should have at most ", kMaxGraphFileBytes));
  }
  file.clear();
  file.seekg(0);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is empty or can't be read"));
  }
  v1::Graph graph;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &graph);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not the JSON of a kiln.v1.Graph: ",
                                                   SafeText(std::string(status.message()), 300)));
  }
  if (graph.nodes().empty()) return absl::InvalidArgumentError(absl::StrCat(path, " has no nodes"));
  return graph;
}

absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& text,
                                                              std::string_view what) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", SafeText(text), "\": should be ", std::string(what)));
  }
  return std::make_pair(text.substr(0, equals), text.substr(equals + 1));
}

std::map<uint32_t, const v1::Node*> SlotsOf(const v1::Graph& graph) {
  std::map<uint32_t, const v1::Node*> slots;
  for (const v1::Node& node : graph.nodes()) {
    if (node.op() == v1::OP_INPUT) slots.emplace(node.input().slot(), &node);
  }
  return slots;
}

absl::StatusOr<const v1::Node*> InputOfSlot(const v1::Graph& graph, uint32_t slot) {
  const std::map<uint32_t, const v1::Node*> slots = SlotsOf(graph);
  const auto found = slots.find(slot);
  if (found != slots.end()) return found->second;
  return absl::NotFoundError(absl::StrCat(
      "the graph has no input slot ", slot, ": ", slots.empty() ? "it has none" : "it has ",
      absl::StrJoin(slots, ", ", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.first);
      })));
}

absl::StatusOr<uint32_t> FindNode(const v1::Graph& graph, const std::string& name) {
  uint32_t number;
  if (absl::SimpleAtoi(name, &number)) {
    if (number < static_cast<uint32_t>(graph.nodes_size())) return number;
    return absl::NotFoundError(
        absl::StrCat("the graph has no node ", number, ": its last is ", graph.nodes_size() - 1));
  }
  std::vector<uint32_t> found;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    if (graph.nodes(i).label() == name) found.push_back(static_cast<uint32_t>(i));
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no node of the graph has the label \"", SafeText(name),
                                            "\": give a label or the number of a node"));
  }
  return absl::InvalidArgumentError(absl::StrCat("nodes ", absl::StrJoin(found, ", "),
                                                 " have the label \"", SafeText(name),
                                                 "\": give the number of the one that you mean"));
}

absl::Status CheckInput(const v1::Graph& graph, const v1::Node& input, const NpyHeader& array,
                        const std::map<std::string, int64_t>& var_vals) {
  if (!IsOfDType(array, input.dtype())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has dtype ", NpyTypeName(array), ": the graph asks for ", DTypeName(input.dtype())));
  }
  const auto& dims = input.input().dims();
  bool fits = array.dims.size() == static_cast<size_t>(dims.size());
  std::vector<std::string> wanted;
  for (int i = 0; i < dims.size(); ++i) {
    const std::optional<int64_t> size = SizeOf(graph, dims[i], var_vals);
    wanted.push_back(size ? absl::StrCat(*size) : "?");
    if (fits && size && *size != static_cast<int64_t>(array.dims[static_cast<size_t>(i)]))
      fits = false;
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("has shape [", absl::StrJoin(array.dims, ", "),
                                                 "]: the graph asks for [",
                                                 absl::StrJoin(wanted, ", "), "]"));
}

}  // namespace kiln::ctl
