// Small graphs for tests through a kilnd, node by node.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "kiln/v1/graph.pb.h"

namespace kiln::wire {

// Thread-compatible. Each function appends a node and returns its index.
class GraphMaker {
 public:
  uint32_t Input(uint32_t slot, v1::DType dtype, const std::vector<int64_t>& dims);
  uint32_t Constant(v1::DType dtype, int64_t value, const std::vector<int64_t>& dims);
  uint32_t Variable(const std::string& name, int64_t min, int64_t max);
  uint32_t Op(v1::Op op, std::initializer_list<uint32_t> src);
  uint32_t Call(const std::string& function, std::initializer_list<uint32_t> src);

  v1::Node& node(uint32_t index) { return *graph_.mutable_nodes(static_cast<int>(index)); }
  const v1::Graph& graph() const { return graph_; }

 private:
  uint32_t Add(v1::Op op, std::initializer_list<uint32_t> src);
  v1::Graph graph_;
};

// Slot 0: state, int64 [elems], which becomes state * 31 + step; slot 1: step, int64 [elems]. Node
// `*output` is the first
// element of it (int64 [1]). Commands lost, repeated or out of order change what comes out.
v1::Graph StepGraph(int64_t elems, uint32_t* output);

// y = x + 1, float32 [elems]; slot 0.
v1::Graph AddOneGraph(int64_t elems, uint32_t* output);

// `kernels` kernels one after another, each x + 1 of float32 [elems]; slot 0.
v1::Graph ChainGraph(int kernels, int64_t elems, uint32_t* output);

}  // namespace kiln::wire
