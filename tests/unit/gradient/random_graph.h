// Random tensor graphs that are smooth enough for finite differences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/tensor/graph_builder.h"
#include "tests/support/random.h"

namespace kiln::support {

// Confined to one graph. Of inputs 0 and 1, float64, of one shape. Values stay near 1: functions of
// them have no poles nearby.
class RandomDifferentiable {
 public:
  RandomDifferentiable(tensor::GraphBuilder& b, uint64_t seed) : b_(b), random_(seed) {}

  absl::StatusOr<tensor::Value> Build() {
    const int64_t rank = random_.Uniform(0, 3);
    for (int64_t i = 0; i < rank; ++i) shape_.push_back(random_.Uniform(i == 0 ? 0 : 1, 3));
    for (int slot = 0; slot < 2; ++slot) {
      values_.push_back(*b_.Input(slot, DType::kFloat64, Shape()));
    }
    const int64_t steps = random_.Uniform(2, 10);
    for (int64_t i = 0; i < steps; ++i) {
      const auto next = Step();
      if (!next.ok()) return next;
      values_.push_back(*next);
    }
    return values_.back();
  }

 private:
  tensor::Value Pick() {
    // Mostly something new.
    const auto size = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(random_.Chance(1, 2) ? size - 1
                                                            : random_.Uniform(0, size - 1))];
  }
  std::vector<tensor::Dim> Shape() const { return {shape_.begin(), shape_.end()}; }
  absl::StatusOr<tensor::Value> Constant(double v) {
    const std::vector<tensor::Dim> ones(shape_.size(), 1);
    return b_.Expand(b_.Reshape(b_.Const(DType::kFloat64, Scalar::Float(v)), ones), Shape());
  }
  // Between 0.5 and 2, smoothly.
  absl::StatusOr<tensor::Value> Tame(const tensor::Source& x) {
    return b_.Alu(Op::kAdd,
                  {b_.Alu(Op::kMul, {b_.Alu(Op::kSin, {x}), Constant(0.6)}), Constant(1.2)});
  }
  absl::StatusOr<tensor::Value> Step() {
    switch (random_.Uniform(0, 5)) {
      case 0:
        return Tame(Moved(Pick()));
      case 1:
        return Tame(Reduced(Pick()));
      case 2:
        return Tame(Called(Pick()));
      default:
        return Tame(Elementwise());
    }
  }
  absl::StatusOr<tensor::Value> Elementwise() {
    constexpr Op kUnary[] = {Op::kNeg, Op::kRecip, Op::kSqrt, Op::kExp2, Op::kLog2, Op::kSin};
    constexpr Op kBinary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kMax, Op::kPow};
    const tensor::Value x = Pick(), y = Pick();
    switch (random_.Uniform(0, 4)) {
      case 0:
      case 1:
        return b_.Alu(random_.Pick<Op>(kUnary), {x});
      case 2:
        return b_.Alu(Op::kWhere, {b_.Alu(Op::kCmpLt, {x, Constant(1.1)}), y, Pick()});
      case 3:
        return b_.Alu(Op::kMulAcc, {x, y, Pick()});
      default:
        return b_.Alu(random_.Pick<Op>(kBinary), {x, y});
    }
  }
  // Through movements and back to the shape of all.
  absl::StatusOr<tensor::Value> Moved(const tensor::Source& x) {
    const auto rank = static_cast<int64_t>(shape_.size());
    if (rank == 0) return b_.Reshape(b_.Flip(b_.Reshape(x, {1, 1}), {1}), {});
    const int64_t axis = random_.Uniform(0, rank - 1);
    const auto at = static_cast<size_t>(axis);
    switch (random_.Uniform(0, 3)) {
      case 0:
        return b_.Flip(x, {axis});
      case 1: {  // A turn of the axes, and back another way.
        std::vector<int64_t> turn;
        std::vector<tensor::Dim> turned;
        for (int64_t i = 0; i < rank; ++i) {
          turn.push_back((i + 1) % rank);
          turned.emplace_back(shape_[static_cast<size_t>((i + 1) % rank)]);
        }
        return b_.Reshape(b_.Alu(Op::kMul, {b_.Permute(x, turn), b_.Reshape(Pick(), turned)}),
                          Shape());
      }
      case 2: {  // Shifted, filled with what PAD gives.
        std::vector<tensor::Dim> pad(2 * shape_.size(), 0), cut;
        const int64_t before = random_.Uniform(0, 2), after = random_.Uniform(0, 2);
        pad[2 * at] = before;
        pad[2 * at + 1] = after;
        const int64_t begin = random_.Uniform(0, before + after);
        for (size_t i = 0; i < shape_.size(); ++i) {
          cut.emplace_back(i == at ? begin : 0);
          cut.emplace_back(i == at ? begin + shape_[i] : shape_[i]);
        }
        return b_.Shrink(b_.Pad(x, pad), cut);
      }
      default: {  // Repeated and summed.
        std::vector<tensor::Dim> thin = Shape(), wide = Shape();
        thin.insert(thin.begin() + axis, 1);
        wide.insert(wide.begin() + axis, 2);
        return b_.Reshape(b_.Reduce(Op::kAdd, b_.Expand(b_.Reshape(x, thin), wide), {axis}),
                          Shape());
      }
    }
  }
  absl::StatusOr<tensor::Value> Reduced(const tensor::Source& x) {
    if (shape_.empty()) return x.value();
    constexpr Op kBy[] = {Op::kAdd, Op::kMul, Op::kMax};
    std::vector<int64_t> axes;
    for (size_t i = 0; i < shape_.size(); ++i) {
      if (random_.Chance(1, 2)) axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) axes.push_back(0);
    const Op by = random_.Pick<Op>(kBy);
    // A product of nothing is 1, a maximum -inf, of which nothing is made.
    return b_.Expand(b_.Reduce(by, x, axes), Shape());
  }
  // A function of the library that keeps the shape.
  absl::StatusOr<tensor::Value> Called(const tensor::Source& x) {
    using Function = std::pair<const char*, std::vector<tensor::Attribute>>;
    std::vector<Function> functions = {
        {"tanh", {}},  {"sigmoid", {}}, {"softplus", {}}, {"gelu", {}},      {"mish", {}},
        {"expm1", {}}, {"log1p", {}},   {"atan", {}},     {"asinh", {}},     {"erf", {}},
        {"selu", {}},  {"square", {}},  {"softsign", {}}, {"sinh", {}},      {"cosh", {}},
        {"rsqrt", {}}, {"log10", {}},   {"abs", {}},      {"hard_swish", {}}};
    if (!shape_.empty() && !IsEmpty()) {
      const tensor::Attribute axis = {"axis",
                                      random_.Uniform(0, static_cast<int64_t>(shape_.size()) - 1)};
      for (const char* f :
           {"softmax", "log_softmax", "normalize", "cumsum", "cumprod", "cummax", "sort"}) {
        functions.push_back({f, {axis}});
      }
      functions.push_back({"layer_norm", {{"eps", 0.1}}});
      functions.push_back({"rms_norm", {}});
    }
    const Function& f = random_.Pick<Function>(functions);
    const auto made = b_.Call(f.first, {x}, f.second);
    if (!made.ok()) return made.status();
    return (*made)[0];
  }
  bool IsEmpty() const { return std::find(shape_.begin(), shape_.end(), 0) != shape_.end(); }

  tensor::GraphBuilder& b_;
  Random random_;
  std::vector<int64_t> shape_;
  std::vector<tensor::Value> values_;
};

}  // namespace kiln::support
