// Graphs as strangers send them, as graphs to compute.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/tensor/graph_builder.h"
#include "core/tensor/tensor_graph.h"
#include "kiln/v1/graph.pb.h"
#include "server/pb.h"

namespace kiln::server {

// Payload of a status: the node of the graph that is at fault, as decimal text.
inline constexpr absl::string_view kNodePayload = "kiln.node";

// The graph that computes `outputs`: nodes of `graph`, in order; one may be named more than once.
// All nodes are checked, those that no output needs as well. Equal CALLs that differ in `output`
// only are one call.
//
// InvalidArgument, NotFound (no such function), Unimplemented, ResourceExhausted (beyond a limit):
// the message is at most some 2 KB of UTF-8 and names node (number, label, op) and field; the first
// node at fault is in kNodePayload. Takes about a microsecond a node; nothing recurses.
absl::StatusOr<tensor::TensorGraph> ImportGraph(const pb::Graph& graph,
                                                absl::Span<const uint32_t> outputs,
                                                const tensor::GraphLimits& limits);

}  // namespace kiln::server
