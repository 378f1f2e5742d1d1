// Gradients of any graph that bytes describe: most calls are valid, so that graphs become deep and
// branch. A gradient has dtype and shape of its x, or is refused with a status; graphs of gradients of
// gradients stay within the limits and satisfy the spec.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype/check.h"
#include "core/rewrite/specs.h"
#include "core/tensor/functions/schema.h"
#include "core/tensor/graph_builder.h"

namespace {

using kiln::DType;
using kiln::Op;
using kiln::Ref;
using kiln::Scalar;
using namespace kiln::tensor;  // NOLINT(google-build-using-namespace)

constexpr int64_t kGradientNodes = 20'000, kNodes = 20'000;
constexpr size_t kInputs = 3;

// Grows a graph; values are tensors that may be used. Confined to one input of the fuzzer.
class Grower {
 public:
  Grower(const uint8_t* data, size_t size)
      : data_(data), size_(size), b_({.nodes = kNodes, .gradient_nodes = kGradientNodes}) {}

  void Run() {
    constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                 DType::kBFloat16};
    const DType dtype = kDTypes[Byte() % 4];
    for (size_t slot = 0; slot < kInputs; ++slot) {
      std::vector<Dim> dims;
      for (int rank = Byte() % 4; rank > 0; --rank) dims.push_back(AnyDim());
      Keep(b_.Input(static_cast<int64_t>(slot), dtype, dims));
    }
    inputs_.assign(values_.begin(), values_.end());
    while (size_ > 0) Keep(Step());
    Finish();
  }

 private:
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // The newest are likely.
  Value Pick() {
    const size_t back = Byte() % 8;
    return values_[values_.size() - 1 - back % values_.size()];
  }
  Dim AnyDim() {
    const uint8_t kind = Byte();
    return kind > 230 ? Dim(b_.Variable("n", 0, 5)) : Dim(kind % 4);
  }
  std::vector<Dim> ShapeOf(Value v) {
    std::vector<Dim> dims;
    const absl::Span<const Ref> shape = *b_.ShapeOf(v);
    for (Ref d : shape) {
      dims.push_back(d->IsConst() ? Dim(d->IntValue()) : Dim(b_.Variable("n", 0, 5)));
    }
    return dims;
  }
  int64_t Axis(Value v) {
    const size_t rank = b_.ShapeOf(v)->size();
    return rank == 0 ? 0 : static_cast<int64_t>(Byte() % rank);
  }
  void Keep(const absl::StatusOr<Value>& v) {
    if (v.ok()) {
      if (*b_.DTypeOf(*v) != DType::kIndex) values_.push_back(*v);
      return;
    }
    KILN_CHECK(!v.status().message().empty());
    KILN_CHECK(absl::IsInvalidArgument(v.status()) || absl::IsResourceExhausted(v.status()) ||
               absl::IsUnimplemented(v.status()));
  }

  absl::StatusOr<Value> Step() {
    const Value x = Pick();
    switch (Byte() % 10) {
      case 0: {
        constexpr Op kUnary[] = {Op::kNeg,  Op::kRecip, Op::kSqrt, Op::kExp2,
                                 Op::kLog2, Op::kSin,   Op::kTrunc};
        const Op op = kUnary[Byte() % 7];
        absl::StatusOr<Value> y = x;
        for (int times = Byte() > 250 ? 500 : 1; times > 0 && y.ok(); --times) y = b_.Alu(op, {*y});
        return y;
      }
      case 1:
        return Moved(x);
      case 2: {
        constexpr Op kBy[] = {Op::kAdd, Op::kMul, Op::kMax};
        return b_.Expand(b_.Reduce(kBy[Byte() % 3], x, {Axis(x)}), ShapeOf(x));
      }
      case 3: {
        constexpr DType kTo[] = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32,
                                 DType::kBool};
        return b_.Cast(x, kTo[Byte() % 5]);
      }
      case 4:
        return Byte() % 2 == 0 ? b_.Detach(x) : b_.Contiguous(x);
      case 5:
        return b_.Gradient(x, std::nullopt, inputs_, Byte() % kInputs);
      case 6:
        return Devices(x);
      case 7:
        return b_.Alu(Op::kWhere, {b_.Alu(Op::kCmpLt, {x, Pick()}), x, Pick()});
      case 8:
        return Called(x);
      default: {
        constexpr Op kBinary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kFDiv, Op::kMax, Op::kPow};
        return b_.Alu(kBinary[Byte() % 6], {x, Byte() % 4 == 0 ? x : Pick()});
      }
    }
  }
  absl::StatusOr<Value> Moved(Value x) {
    std::vector<Dim> dims = ShapeOf(x);
    switch (Byte() % 4) {
      case 0:
        return b_.Flip(x, {Axis(x)});
      case 1: {
        std::vector<int64_t> turn;
        for (size_t i = 0; i < dims.size(); ++i) {
          turn.push_back(static_cast<int64_t>((i + 1) % dims.size()));
        }
        return b_.Permute(x, turn);
      }
      case 2: {
        std::vector<Dim> pads;
        for (size_t i = 0; i < 2 * dims.size(); ++i) pads.push_back(Byte() % 3);
        return b_.Pad(x, pads);
      }
      default:
        dims.insert(dims.begin(), 1);
        return b_.Reshape(x, dims);
    }
  }
  absl::StatusOr<Value> Devices(Value x) {
    switch (Byte() % 4) {
      case 0:
        return b_.Copy(x, "CPU:1");
      case 1:
        return b_.Shard(x, std::vector<std::string>{"A", "B"},
                        Byte() % 2 == 0 ? std::nullopt : std::optional<int64_t>(Axis(x)));
      case 2:
        return b_.Unshard(x);
      default: {
        constexpr Op kBy[] = {Op::kAdd, Op::kMul, Op::kMax};
        return b_.AllReduce(kBy[Byte() % 3], x);
      }
    }
  }
  // Any function of the library, with attributes only where it needs them: 1, or a list of it.
  absl::StatusOr<Value> Called(Value x) {
    const auto all = functions::AllFunctions();
    const functions::FunctionSchema& f = all[(Byte() * size_t{256} + Byte()) % all.size()];
    std::vector<std::optional<Source>> inputs;
    for (const functions::InputSchema& in : f.inputs) {
      const Value v = inputs.empty() ? x : Pick();
      if (in.is_optional && Byte() % 2 == 0) {
        inputs.emplace_back();
      } else if (in.rule == functions::DTypeRule::kInteger) {
        inputs.emplace_back(b_.Cast(v, DType::kInt32));
      } else {
        inputs.emplace_back(v);
      }
    }
    std::vector<Attribute> attributes;
    for (const functions::AttributeSchema& a : f.attributes) {
      if (!a.is_required) continue;
      using functions::AttributeType;
      const bool is_list = a.type == AttributeType::kInts || a.type == AttributeType::kSizes;
      if (is_list) {
        attributes.push_back({a.name, std::vector<int64_t>{Byte() % 3}});
      } else if (a.type == AttributeType::kFloat) {
        attributes.push_back({a.name, 1.0});
      } else if (a.type != AttributeType::kDType && a.type != AttributeType::kText) {
        attributes.push_back({a.name, int64_t{1}});
      }
    }
    auto made = b_.Call(f.name, inputs, attributes);
    if (!made.ok()) return made.status();
    return (*made)[0];
  }

  void Finish() {
    std::vector<Source> outputs(values_.begin(), values_.end());
    for (size_t back = 0; back < 3 && back < values_.size(); ++back) {
      const Value y = values_[values_.size() - 1 - back];
      for (size_t i = 0; i < inputs_.size(); ++i) {
        const auto grad = b_.Gradient(y, std::nullopt, inputs_, static_cast<int64_t>(i));
        if (!grad.ok()) {
          KILN_CHECK(absl::IsInvalidArgument(grad.status()) ||
                     absl::IsUnimplemented(grad.status()) ||
                     absl::IsResourceExhausted(grad.status()));
          continue;
        }
        const Value x = *inputs_[i].value();
        KILN_CHECK(*b_.DTypeOf(*grad) == *b_.DTypeOf(x));
        KILN_CHECK(*b_.ShapeOf(*grad) == *b_.ShapeOf(x));
        outputs.emplace_back(*grad);
      }
    }
    const auto graph = std::move(b_).Finish(outputs);
    if (!graph.ok()) {
      KILN_CHECK(absl::IsInvalidArgument(graph.status()) ||
                 absl::IsResourceExhausted(graph.status()));
      return;
    }
    KILN_CHECK(kiln::rewrite::Verify(*graph->graph, graph->sink, kiln::rewrite::kTensorSpec).ok());
    // What is made is what was asked for and what gradients may consist of, and some dims of each.
    KILN_CHECK(graph->graph->size() < 16 * (kNodes + kGradientNodes));
  }

  const uint8_t* data_;
  size_t size_;
  GraphBuilder b_;
  std::vector<Value> values_;
  std::vector<Source> inputs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Grower(data, size).Run();
  return 0;
}
