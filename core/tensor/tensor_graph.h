// A verified tensor graph: what the scheduler takes, and what it must know besides the nodes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/uop/graph.h"

namespace kiln::tensor {

// What is bound to a slot at run time: a tensor in memory of its own, whole and row-major.
struct TensorInput {
  int64_t slot = 0;
  DType dtype = DType::kVoid;
  std::vector<Ref> dims;
  std::string device;        // Where it lives; empty: the default device.
  bool is_assigned = false;  // An ASSIGN below the sink writes to it.
};

// Satisfies kTensorSpec. Owns the nodes that its members refer to; movable. Confined to one thread,
// like its graph.
struct TensorGraph {
  std::unique_ptr<Graph> graph;
  Ref sink = nullptr;  // SINK(outputs...); an output may occur twice.

  // The inputs below `sink`, by slot.
  std::vector<TensorInput> inputs;
  // The VARIABLE nodes below `sink` and `conditions`, by name. A run gives each a value within its
  // bounds.
  std::vector<Ref> variables;
  // Bool expressions of variables that must hold for the shapes to be right; a run evaluates them
  // first (symbolic::Evaluate) and is refused with InvalidArgument if one does not hold.
  std::vector<Ref> conditions;
  // The devices that inputs, COPY and SHARD name, sorted.
  std::vector<std::string> devices;
  // Labels of nodes, by id, for profiles and messages. A node that several calls made has the first
  // of their labels.
  std::vector<std::pair<Ref, std::string>> labels;
  // What the engine knows the graph by, once it has seen it: linear work that need not be done
  // twice. Whoever changes `sink`, `inputs` or `conditions` resets it.
  mutable std::optional<std::array<uint8_t, 32>> digest = std::nullopt;
};

}  // namespace kiln::tensor
