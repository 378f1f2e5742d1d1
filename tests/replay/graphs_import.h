// The graph of a fixture record as a TensorGraph.
//
//   BUFFER                          INPUT of the next slot, [size]; one per device of a list
//   DEFINE_VAR, BIND                VARIABLE; of dtype int32: its CAST
//   ASSIGN to no place in memory    its value
//   CONTIGUOUS_BACKWARD, FUSE       their source
//   nodes on several devices        a node per device (graphs_pieces.h); _device_num is the
//                                   constant i on the i-th
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/tensor/tensor_graph.h"
#include "tests/replay/record.h"

namespace kiln::replay {

// The input of a slot: a BUFFER of the record, and which of its shards.
struct ImportedInput {
  size_t node = 0;
  std::optional<size_t> shard;  // None: the buffer is on one device.
  DType dtype = DType::kVoid;
  int64_t elems = 0;
};

// An output of the record: the outputs `first` .. `first + count - 1` of the graph, which are its
// shards along `axis` if there are several.
struct ImportedOutput {
  size_t first = 0, count = 1;
  size_t axis = 0;
};

struct ImportedGraph {
  tensor::TensorGraph graph;
  std::vector<ImportedInput> inputs;  // By slot.
  std::vector<ImportedOutput> outputs;
};

// Reads "nodes" and "outputs". InvalidArgument, naming the node, if one is malformed or does not
// mean what the record says it does; Unimplemented for what tears shards apart. May throw what the
// JSON library throws at a wrong type.
absl::StatusOr<ImportedGraph> ImportGraph(const Json& record);

}  // namespace kiln::replay
