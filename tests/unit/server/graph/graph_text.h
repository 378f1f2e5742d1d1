// Graphs of the wire in protobuf's text form, imported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "google/protobuf/text_format.h"

#include "core/dtype/check.h"
#include "core/uop/text.h"
#include "server/graph/import.h"

namespace kiln::server {

inline pb::Graph GraphOf(std::string_view text) {
  pb::Graph graph;
  KILN_CHECK(google::protobuf::TextFormat::ParseFromString(std::string(text), &graph));
  return graph;
}

inline absl::StatusOr<tensor::TensorGraph> Import(std::string_view text,
                                                  std::vector<uint32_t> outputs = {},
                                                  const tensor::GraphLimits& limits = {}) {
  const pb::Graph graph = GraphOf(text);
  if (outputs.empty()) outputs = {static_cast<uint32_t>(graph.nodes_size() - 1)};
  return ImportGraph(graph, outputs, limits);
}

// What the (first) output is, on one line.
inline std::string TextOf(const absl::StatusOr<tensor::TensorGraph>& graph) {
  if (!graph.ok()) return std::string(graph.status().ToString());
  return uop::ToText({graph->sink->src(0)}, uop::Layout::kLine);
}

// A float32 input of slot 0, [2, 3]: node 0 of most tests.
inline constexpr char kInput[] =
    "nodes { op: OP_INPUT dtype: DTYPE_FLOAT32 "
    "input { dims { value: 2 } dims { value: 3 } } } ";
// The same of int32, slot 1.
inline constexpr char kInts[] =
    "nodes { op: OP_INPUT dtype: DTYPE_INT32 "
    "input { slot: 1 dims { value: 2 } dims { value: 3 } } } ";

}  // namespace kiln::server
