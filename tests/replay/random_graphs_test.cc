// Random tensor graphs through the engine against the evaluator, exactly: integers only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/check.h"
#include "core/tensor/graph_builder.h"
#include "core/uop/text.h"
#include "tests/replay/graphs_executor.h"
#include "tests/support/random.h"
#include "tests/support/random_runs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tensor_evaluator.h"

namespace kiln::replay {
namespace {

using support::Random;
using support::TensorArray;
using support::TensorResults;
using support::TensorRun;
using tensor::Dim;
using tensor::GraphBuilder;
using tensor::Source;
using tensor::TensorGraph;
using tensor::Value;

constexpr int kMaxSteps = 14;
constexpr int64_t kMaxElems = 600;
constexpr DType kInt = DType::kInt32;

using Shape = std::vector<int64_t>;

int64_t Elems(const Shape& shape) {
  int64_t elems = 1;
  for (int64_t size : shape) elems *= size;
  return elems;
}
std::vector<Dim> Dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Builds a graph step by step out of tensors that it has, each of int32.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : r_(seed) {
    const int64_t inputs = r_.Uniform(1, 3);
    for (int64_t slot = 0; slot < inputs; ++slot) AddInput(slot);
    const int64_t steps = r_.Uniform(2, kMaxSteps);
    for (int64_t i = 0; i < steps; ++i) Step();
  }

  TensorGraph Finish() {
    std::vector<Source> outputs;
    const int64_t count = r_.Uniform(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      // Mostly what was made last.
      const auto last = static_cast<int64_t>(tensors_.size()) - 1;
      outputs.emplace_back(
          tensors_[static_cast<size_t>(r_.Uniform(std::max<int64_t>(0, last - 4), last))].value);
    }
    for (const State& state : states_) {
      if (state.is_written) outputs.emplace_back(state.now.value);
    }
    auto graph = std::move(b_).Finish(outputs);
    KILN_CHECK(graph.ok());
    return *std::move(graph);
  }
  TensorRun run() const { return run_; }

 private:
  struct Tensor {
    Value value;
    Shape shape;
  };
  // An input, or what was last written to it.
  struct State {
    Tensor now;
    bool is_written = false;
  };

  void AddInput(int64_t slot) {
    Shape shape;
    const int64_t rank = r_.Uniform(1, 3);
    for (int64_t i = 0; i < rank; ++i) shape.push_back(r_.Uniform(1, 6));
    std::vector<int32_t> contents(static_cast<size_t>(Elems(shape)));
    for (int32_t& v : contents) v = static_cast<int32_t>(r_.Uniform(-9, 9));
    std::vector<std::byte>& bytes = run_.inputs[slot];
    bytes.resize(contents.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), contents.data(), bytes.size());
    Keep(b_.Input(slot, kInt, Dims(shape)), shape);
    states_.push_back({.now = tensors_.back()});
  }

  void Keep(const absl::StatusOr<Value>& value, const Shape& shape) {
    ASSERT_TRUE(value.ok()) << value.status();
    tensors_.push_back({*value, shape});
  }
  const Tensor& Any() {
    // Often the newest, so that graphs get deep.
    if (r_.Chance(1, 2)) return tensors_.back();
    return tensors_[static_cast<size_t>(r_.Uniform(0, static_cast<int64_t>(tensors_.size()) - 1))];
  }

  void Step() {
    const Tensor x = Any();
    switch (r_.Uniform(0, 11)) {
      case 0:
      case 1:
        return Elementwise(x);
      case 2:
        return Reduce(x);
      case 3:
        return Expand(x);
      case 4:
        return Pad(x);
      case 5:
        return Shrink(x);
      case 6:
        return Reshape(x);
      case 7:
        return Rearrange(x);
      case 8:
        return Keep(b_.Contiguous(x.value), x.shape);
      case 9:
        return Symbolic(x);
      case 10:
        return Write();
      default:
        return Select(x);
    }
  }

  // A tensor of shape `shape`: another one, cut and padded as need be, or a constant.
  Value Shaped(const Shape& shape) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const Tensor& y = Any();
      if (y.shape == shape) return y.value;
      if (Elems(y.shape) == Elems(shape)) return *b_.Reshape(y.value, Dims(shape));
    }
    const auto constant = b_.Const(kInt, Scalar::Int(r_.Uniform(-3, 3)));
    return *b_.Expand(b_.Reshape(constant, Dims(Shape(shape.size(), 1))), Dims(shape));
  }

  void Elementwise(const Tensor& x) {
    constexpr Op kOps[] = {Op::kAdd, Op::kMul, Op::kMax,  Op::kSub,
                           Op::kXor, Op::kAnd, Op::kIDiv, Op::kMod};
    const Op op = r_.Pick(absl::MakeConstSpan(kOps));
    Keep(b_.Alu(op, {x.value, Shaped(x.shape)}), x.shape);
  }
  // Where the index along an axis compares with a tensor, or two tensors do.
  void Select(const Tensor& x) {
    if (x.shape.empty()) return Elementwise(x);
    const auto rank = static_cast<int64_t>(x.shape.size());
    const Source left = r_.Chance(1, 2)
                            ? Source(b_.Iota(kInt, Dims(x.shape), r_.Uniform(0, rank - 1)))
                            : Source(Shaped(x.shape));
    constexpr Op kOps[] = {Op::kCmpLt, Op::kCmpNe, Op::kCmpEq};
    const auto condition = b_.Alu(r_.Pick(absl::MakeConstSpan(kOps)), {left, Shaped(x.shape)});
    Keep(b_.Alu(Op::kWhere, {condition, x.value, Shaped(x.shape)}), x.shape);
  }
  void Reduce(const Tensor& x) {
    std::vector<int64_t> axes;
    Shape shape = x.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!r_.Chance(1, 2)) continue;
      axes.push_back(static_cast<int64_t>(i));
      shape[i] = 1;
    }
    if (axes.empty()) return Elementwise(x);
    constexpr Op kOps[] = {Op::kAdd, Op::kAdd, Op::kMax, Op::kMul};
    Keep(b_.Reduce(r_.Pick(absl::MakeConstSpan(kOps)), x.value, axes), shape);
  }
  void Expand(const Tensor& x) {
    Shape shape = x.shape;
    if (shape.size() < 4 && r_.Chance(1, 2)) {
      shape.insert(shape.begin() + r_.Uniform(0, static_cast<int64_t>(shape.size())), 1);
    }
    const Shape ones = shape;
    for (int64_t& size : shape) {
      if (size == 1 && r_.Chance(2, 3)) size = r_.Uniform(1, 5);
    }
    if (Elems(shape) > kMaxElems) return Elementwise(x);
    Keep(b_.Expand(b_.Reshape(x.value, Dims(ones)), Dims(shape)), shape);
  }
  void Pad(const Tensor& x) {
    Shape shape = x.shape;
    std::vector<Dim> pairs;
    for (int64_t& size : shape) {
      const int64_t before = r_.Uniform(0, 2), after = r_.Uniform(0, 2);
      pairs.emplace_back(before);
      pairs.emplace_back(after);
      size += before + after;
    }
    if (Elems(shape) > kMaxElems) return Elementwise(x);
    Keep(b_.Pad(x.value, pairs), shape);
  }
  void Shrink(const Tensor& x) {
    Shape shape = x.shape;
    std::vector<Dim> pairs;
    for (int64_t& size : shape) {
      // Now and then nothing is left.
      const int64_t begin = size == 0 ? 0 : r_.Uniform(0, size - 1);
      const int64_t end =
          r_.Uniform(begin + (r_.Chance(1, 30) ? 0 : std::min<int64_t>(1, size)), size);
      pairs.emplace_back(begin);
      pairs.emplace_back(end);
      size = end - begin;
    }
    Keep(b_.Shrink(x.value, pairs), shape);
  }
  // As much of an axis as a variable says; then reduced, or padded to what it was.
  void Symbolic(const Tensor& x) {
    if (x.shape.empty()) return Elementwise(x);
    const int64_t axis = r_.Uniform(0, static_cast<int64_t>(x.shape.size()) - 1);
    const int64_t size = x.shape[static_cast<size_t>(axis)];
    if (size < 2) return Elementwise(x);
    const std::string name = absl::StrCat("v", size);
    run_.var_vals.emplace(name, r_.Uniform(1, size));
    const auto v = b_.Variable(name, 1, size);
    const auto rest = b_.Alu(Op::kSub, {b_.Index(size), v});
    std::vector<Dim> cut, pad;
    for (int64_t i = 0; i < static_cast<int64_t>(x.shape.size()); ++i) {
      const bool first = i == axis && r_.Chance(1, 2);  // The first elements, or the last.
      cut.emplace_back(i == axis && !first ? Dim(rest) : Dim(0));
      cut.emplace_back(i == axis && first ? Dim(v) : Dim(x.shape[static_cast<size_t>(i)]));
      pad.emplace_back(0);
      pad.emplace_back(i == axis ? Dim(rest) : Dim(0));
    }
    const auto part = b_.Shrink(x.value, cut);
    if (r_.Chance(1, 2)) return Keep(b_.Pad(part, pad), x.shape);
    Shape shape = x.shape;
    shape[static_cast<size_t>(axis)] = 1;
    Keep(b_.Reduce(r_.Chance(1, 2) ? Op::kAdd : Op::kMax, part, {axis}), shape);
  }
  // Splits an axis, or merges two.
  void Reshape(const Tensor& x) {
    Shape shape = x.shape;
    if (shape.size() > 1 && r_.Chance(1, 2)) {
      const auto at = static_cast<size_t>(r_.Uniform(0, static_cast<int64_t>(shape.size()) - 2));
      shape[at] *= shape[at + 1];
      shape.erase(shape.begin() + static_cast<ptrdiff_t>(at) + 1);
    } else if (!shape.empty() && shape.size() < 5) {
      const auto at = static_cast<size_t>(r_.Uniform(0, static_cast<int64_t>(shape.size()) - 1));
      const int64_t part = r_.Uniform(1, 4);
      if (shape[at] % part != 0) return Elementwise(x);
      shape[at] /= part;
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(at), part);
    }
    Keep(b_.Reshape(x.value, Dims(shape)), shape);
  }
  void Rearrange(const Tensor& x) {
    const auto rank = static_cast<int64_t>(x.shape.size());
    if (r_.Chance(1, 2)) {
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < rank; ++i) {
        if (r_.Chance(1, 2)) axes.push_back(i);
      }
      return Keep(b_.Flip(x.value, axes), x.shape);
    }
    std::vector<int64_t> order;
    for (int64_t i = 0; i < rank; ++i) order.insert(order.begin() + r_.Uniform(0, i), i);
    Shape shape;
    for (int64_t i : order) shape.push_back(x.shape[static_cast<size_t>(i)]);
    Keep(b_.Permute(x.value, order), shape);
  }

  // Writes to all of an input or some of it, in some order; what it held, or holds now, may be read
  // by anything.
  void Write() {
    State& state =
        states_[static_cast<size_t>(r_.Uniform(0, static_cast<int64_t>(states_.size()) - 1))];
    const size_t before = tensors_.size();
    if (r_.Chance(1, 3)) Shrink(state.now);
    if (r_.Chance(1, 3)) Rearrange(tensors_.size() > before ? tensors_.back() : state.now);
    const Tensor target = tensors_.size() > before ? tensors_.back() : state.now;
    const Value more = r_.Chance(1, 2) ? target.value : Shaped(target.shape);
    const auto value = b_.Alu(r_.Chance(1, 2) ? Op::kAdd : Op::kXor, {more, Shaped(target.shape)});
    Keep(b_.Assign(target.value, value), target.shape);
    state = {tensors_.back(), true};
  }

  Random r_;
  GraphBuilder b_;
  TensorRun run_;
  std::vector<Tensor> tensors_;
  std::vector<State> states_;  // Of the inputs.
};

class RandomGraphs : public testing::TestWithParam<std::pair<const char*, uint64_t>> {};

TEST_P(RandomGraphs, AgreeWithTheEvaluator) {
  const auto [name, count] = GetParam();
  KILN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<GraphExecutor> executor, MakeExecutor(name));
  support::RandomRuns runs = support::RandomRunsFromEnvironment();
  if (std::getenv("KILN_RANDOM_RUNS") == nullptr) runs.count = count;
  for (uint64_t seed = runs.first_seed; seed < runs.first_seed + runs.count; ++seed) {
    RandomGraph random(seed);
    const TensorGraph graph = random.Finish();
    const std::string text =
        absl::StrCat("seed ", seed, ": ", uop::ToText(graph.sink, uop::Layout::kLines));
    KILN_ASSERT_OK_AND_ASSIGN(const TensorResults want,
                              support::EvaluateTensors(graph, random.run()));
    const auto got = executor->Run(graph, random.run());
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << text;
    ASSERT_EQ(got->outputs.size(), want.outputs.size());
    for (size_t i = 0; i < want.outputs.size(); ++i) {
      ASSERT_EQ(got->outputs[i].shape, want.outputs[i].shape) << "output " << i << " of " << text;
      ASSERT_EQ(got->outputs[i].bytes, want.outputs[i].bytes) << "output " << i << " of " << text;
    }
    ASSERT_EQ(got->assigned, want.assigned) << text;
  }
}
INSTANTIATE_TEST_SUITE_P(Devices, RandomGraphs,
                         testing::Values(std::pair("interp", uint64_t{1500}),
                                         std::pair("cpu", uint64_t{300})),
                         [](const auto& p) { return std::string(p.param.first); });

}  // namespace
}  // namespace kiln::replay
