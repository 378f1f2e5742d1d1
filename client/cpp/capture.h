// Captured graphs: an expression of inputs, compiled once, run with one small message.
//
//   kiln::Tensor x = kiln::Tensor::Input(session, {32, 784}, kiln::kFloat32);
//   kiln::Tensor loss = ...;                                        // Of x and of parameters.
//   std::vector<kiln::Tensor> outputs = {loss};
//   for (each parameter w) outputs.push_back(Assign(w, w - 0.1 * gradient of w));
//   absl::StatusOr<kiln::CapturedGraph> step = kiln::Compile({x}, outputs);
//   for (...) absl::StatusOr<std::vector<kiln::Tensor>> out = step->Run({batch});
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "client/cpp/tensor.h"

namespace kiln {

namespace client {
struct CapturedState;
}

// Thread-safe; copies stand for the same.
class CapturedGraph {
 public:
  // Runs it on `inputs`, in the order of the placeholders and of their shapes and dtypes; waits for
  // nothing, unless sizes depend on variables. What the graph uses besides (weights) is what it was
  // at the capture. Outputs are new tensors; those that are assigned are the assigned one.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs,
                                          const VarVals& var_vals = {}) const;
  absl::StatusOr<std::vector<Tensor>> operator()(const std::vector<Tensor>& inputs,
                                                 const VarVals& var_vals = {}) const {
    return Run(inputs, var_vals);
  }
  // Kernels, variables, largest shapes.
  const v1::GraphResult& info() const;

  explicit CapturedGraph(std::shared_ptr<const client::CapturedState> state)
      : state_(std::move(state)) {}

 private:
  std::shared_ptr<const client::CapturedState> state_;
};

// Compiles what computes `outputs` (one or more) from `inputs` (made by Tensor::Input, all that the
// outputs depend on). Waits for the server. InvalidArgument: what is wrong with the expression.
absl::StatusOr<CapturedGraph> Compile(const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& outputs);

}  // namespace kiln
