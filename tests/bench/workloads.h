// What model_bench measures: the models of the fixtures, and a training step.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/engine.h"
#include "core/runtime/registry.h"
#include "core/tensor/tensor_graph.h"

namespace kiln::bench {

inline constexpr char kDevice[] = "cpu:0";

struct Workload {
  std::string name;
  // What the Python reference takes for schedule and lowering on a machine like this, as far as it
  // has been measured.
  std::optional<double> reference_ms;
  std::function<tensor::TensorGraph()> graph;
  // Of the graph's inputs, in their order.
  std::function<std::vector<std::vector<std::byte>>(const tensor::TensorGraph&)> contents;
  runtime::VarVals variables;
};

// Read and built when first asked for.
const std::vector<Workload>& Workloads();

// A CPU and an engine on it. Kernels are kept in `cache_folder`, if there is one.
class Machine {
 public:
  explicit Machine(std::optional<std::string> cache_folder = std::nullopt);

  runtime::Device& device();
  runtime::Engine& engine() { return *engine_; }
  // Buffers with these contents, for the inputs of the graph.
  std::vector<runtime::Binding> Upload(const tensor::TensorGraph& graph,
                                       const std::vector<std::vector<std::byte>>& contents);
  // Waits for the results.
  void Run(runtime::GraphRunner& runner, const std::vector<runtime::Binding>& inputs,
           const runtime::VarVals& variables);

 private:
  runtime::Registry registry_;  // First: buffers die before the devices.
  std::unique_ptr<runtime::Engine> engine_;
};

}  // namespace kiln::bench
