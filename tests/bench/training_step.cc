#include "tests/bench/training_step.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype/check.h"
#include "core/tensor/graph_builder.h"

namespace kiln::bench {
namespace {

using tensor::Attribute;
using tensor::Dim;
using tensor::Source;
using tensor::Value;

constexpr DType kF32 = DType::kFloat32;

class TrainingStep {
 public:
  // What a step changes is written at its end.
  tensor::TensorGraph Finish(const Source& loss) && {
    const Value step = State(DType::kInt32, {});
    const Value one = Must(b_.Const(DType::kInt32, Scalar::Int(1)));
    const Value count = Must(b_.Alu(Op::kAdd, {step, one}));
    updates_.emplace_back(step, count);
    const Value rate = Must(b_.Input(next_slot_++, kF32, {}));
    const std::vector<Source> all(parameters_.begin(), parameters_.end());
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Value p = parameters_[i];
      const Value gradient = Must(b_.Gradient(loss, std::nullopt, all, static_cast<int64_t>(i)));
      const Value m = State(kF32, dims_[i]), v = State(kF32, dims_[i]);
      const std::vector<Value> next = Call("adam", {p, gradient, rate, m, v, count});
      updates_.emplace_back(p, next[0]);
      updates_.emplace_back(m, next[1]);
      updates_.emplace_back(v, next[2]);
    }
    std::vector<Source> outputs = {loss};
    for (const auto& [state, value] : updates_) outputs.emplace_back(b_.Assign(state, value));
    auto graph = std::move(b_).Finish(outputs);
    KILN_CHECK(graph.ok());
    return *std::move(graph);
  }

  Value Data(DType dtype, const std::vector<Dim>& dims) {
    return Must(b_.Input(next_slot_++, dtype, dims));
  }
  Value Conv(Value x, int64_t in, int64_t out, int64_t kernel) {
    const Value weight = Parameter({out, in, kernel, kernel}), bias = Parameter({out});
    return Call("relu", {Call("conv", {x, weight, bias})[0]})[0];
  }
  Value BatchNorm(Value x, int64_t channels) {
    const Value mean = State(kF32, {channels}), var = State(kF32, {channels});
    const Value weight = Parameter({channels}), bias = Parameter({channels});
    const std::vector<Value> made =
        Call("batch_norm", {x, mean, var, weight, bias}, {{"training", true}});
    updates_.emplace_back(mean, made[1]);
    updates_.emplace_back(var, made[2]);
    return made[0];
  }
  Value MaxPool(Value x) { return Call("max_pool", {x}, {{"kernel", int64_t{2}}})[0]; }
  Value Linear(Value x, int64_t in, int64_t out) {
    const Value rows = Call("flatten", {x}, {{"first", int64_t{1}}})[0];
    return Call("linear", {rows, Parameter({out, in}), Parameter({out})})[0];
  }
  Value CrossEntropy(Value x, Value labels) { return Call("cross_entropy", {x, labels})[0]; }

 private:
  static Value Must(absl::StatusOr<Value> value) {
    KILN_CHECK(value.ok());
    return *value;
  }
  std::vector<Value> Call(const std::string& function, const std::vector<Value>& inputs,
                          const std::vector<Attribute>& attributes = {}) {
    const std::vector<std::optional<Source>> sources(inputs.begin(), inputs.end());
    auto made = b_.Call(function, sources, attributes);
    KILN_CHECK(made.ok());
    return *std::move(made);
  }
  Value State(DType dtype, const std::vector<Dim>& dims) {
    return Must(b_.Input(next_slot_++, dtype, dims));
  }
  Value Parameter(const std::vector<Dim>& dims) {
    parameters_.push_back(State(kF32, dims));
    dims_.push_back(dims);
    return parameters_.back();
  }

  tensor::GraphBuilder b_;
  int64_t next_slot_ = 0;
  std::vector<Value> parameters_;
  std::vector<std::vector<Dim>> dims_;            // Of the parameters.
  std::vector<std::pair<Value, Value>> updates_;  // An input, and what it is after the step.
};

}  // namespace

tensor::TensorGraph MnistTrainingStep(int64_t batch) {
  TrainingStep step;
  const Value images = step.Data(kF32, {batch, 1, 28, 28});
  const Value labels = step.Data(DType::kInt32, {batch});
  Value x = step.Conv(step.Conv(images, 1, 32, 5), 32, 32, 5);
  x = step.MaxPool(step.BatchNorm(x, 32));
  x = step.Conv(step.Conv(x, 32, 64, 3), 64, 64, 3);
  x = step.MaxPool(step.BatchNorm(x, 64));
  const Value loss = step.CrossEntropy(step.Linear(x, 64 * 3 * 3, 10), labels);
  return std::move(step).Finish(loss);
}

}  // namespace kiln::bench
