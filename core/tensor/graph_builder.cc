// One method per op. Each looks at its fields, asks for its shape where that is not for uop::ShapeOf
// alone to say, and makes the node.
#include "core/tensor/graph_builder.h"

#include <algorithm>

#include "absl/strings/str_join.h"

#include "core/dtype/alu.h"
#include "core/symbolic/simplify.h"
#include "core/tensor/graph_builder_impl.h"
#include "core/tensor/index_math.h"
#include "core/uop/facts.h"

namespace kiln::tensor {
namespace {

using RefOr = absl::StatusOr<Ref>;
using ValueOr = absl::StatusOr<Value>;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

bool IsDType(DType d) { return static_cast<int>(d) < dtype::kNumDTypes && d != DType::kVoid; }
bool IsReduction(Op op) { return op == Op::kAdd || op == Op::kMul || op == Op::kMax; }

}  // namespace

using internal::BuilderCall;

GraphBuilder::GraphBuilder(const GraphLimits& limits)
    : impl_(std::make_unique<internal::BuilderState>(limits)) {}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

GraphBuilder& GraphBuilder::Label(absl::string_view label) {
  impl_->Label(label);
  return *this;
}

GraphBuilder& GraphBuilder::Number(uint32_t number) {
  impl_->Number(number);
  return *this;
}

// ** leaves **

ValueOr GraphBuilder::Input(int64_t slot, DType dtype, absl::Span<const Dim> dims,
                            absl::string_view device) {
  return impl_->Add(Op::kInput, [&](BuilderCall& call) -> RefOr {
    Graph& g = impl_->graph();
    if (slot < 0) return call.Wrong("slot", slot, " is negative");
    if (slot > impl_->limits().slot) return call.BeyondLimit("slot", "slots", impl_->limits().slot);
    KILN_RETURN_IF_ERROR(call.CheckStorable("dtype", dtype));
    if (!device.empty()) {
      KILN_RETURN_IF_ERROR(
          call.CheckDevice("device", std::string_view(device.data(), device.size())));
    }
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> shape, call.Dims("dims", dims, 1));
    KILN_ASSIGN_OR_RETURN(shape,
                          call.Accept("dims", ShapeAfter(g, shape, absl::Span<const Movement>())));
    Ref input = g.Make(Op::kInput, dtype, shape, Arg::Int(slot));
    KILN_RETURN_IF_ERROR(impl_->AddInput(call, input, device));
    return input;
  });
}

ValueOr GraphBuilder::Const(DType dtype, Scalar value) {
  return impl_->Add(Op::kConst, [&](BuilderCall& call) -> RefOr {
    if (!IsDType(dtype)) return call.Wrong("dtype", "it is no dtype of a value");
    if (!uop::IsValidArg(Op::kConst, dtype, Arg::Of(value))) {
      return call.Wrong("value", "it is no value of ", View(dtype::Name(dtype)));
    }
    KILN_RETURN_IF_ERROR(impl_->AddConstant(call));
    return impl_->graph().Const(dtype, value);
  });
}

ValueOr GraphBuilder::Variable(absl::string_view name, int64_t min, int64_t max) {
  return impl_->Add(Op::kVariable, [&](BuilderCall& call) -> RefOr {
    const std::string_view text(name.data(), name.size());
    KILN_RETURN_IF_ERROR(call.CheckName("name", text));
    if (min > max) return call.Wrong("min", min, " is above the maximum, ", max);
    Ref variable = impl_->graph().Variable(text, min, max);
    KILN_RETURN_IF_ERROR(impl_->AddVariable(call, variable));
    return variable;
  });
}

ValueOr GraphBuilder::Iota(DType dtype, absl::Span<const Dim> dims, int64_t axis) {
  return impl_->Add(Op::kIota, [&](BuilderCall& call) -> RefOr {
    Graph& g = impl_->graph();
    if (!IsDType(dtype) || !dtype::IsFixedWidthInteger(dtype)) {
      return call.Wrong("dtype", "it must be a fixed-width integer");
    }
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> shape, call.Dims("dims", dims, 1));
    KILN_RETURN_IF_ERROR(call.CheckAxis("axis", axis, shape.size()));
    KILN_ASSIGN_OR_RETURN(shape,
                          call.Accept("dims", ShapeAfter(g, shape, absl::Span<const Movement>())));
    return g.Make(Op::kIota, dtype, shape, Arg::Int(axis));
  });
}

// ** movement **

ValueOr GraphBuilder::Reshape(const Source& x, absl::Span<const Dim> dims) {
  return impl_->Add(Op::kReshape, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> shape, call.Dims("dims", dims, 1));
    return call.Move("dims", t, Movement::Reshape(std::move(shape)));
  });
}

ValueOr GraphBuilder::Expand(const Source& x, absl::Span<const Dim> dims) {
  return impl_->Add(Op::kExpand, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> shape, call.Dims("dims", dims, 1));
    return call.Move("dims", t, Movement::Expand(std::move(shape)));
  });
}

ValueOr GraphBuilder::Permute(const Source& x, absl::Span<const int64_t> axes) {
  return impl_->Add(Op::kPermute, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    const size_t rank = call.Shape(t).size();
    if (axes.size() != rank)
      return call.Wrong("axes", axes.size(), " axes given, there are ", rank);
    KILN_RETURN_IF_ERROR(call.AxisMask("axes", axes, rank).status());
    return call.Move("axes", t, Movement::Permute({axes.begin(), axes.end()}));
  });
}

ValueOr GraphBuilder::Flip(const Source& x, absl::Span<const int64_t> axes) {
  return impl_->Add(Op::kFlip, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    KILN_ASSIGN_OR_RETURN(const uint32_t mask, call.AxisMask("axes", axes, call.Shape(t).size()));
    return call.Move("axes", t, Movement::Flip(mask));
  });
}

ValueOr GraphBuilder::Pad(const Source& x, absl::Span<const Dim> pairs) {
  return impl_->Add(Op::kPad, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> dims, call.Dims("pairs", pairs, 2));
    return call.Move("pairs", t, Movement::Pad(std::move(dims)));
  });
}

ValueOr GraphBuilder::Shrink(const Source& x, absl::Span<const Dim> pairs) {
  return impl_->Add(Op::kShrink, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> dims, call.Dims("pairs", pairs, 2));
    return call.Move("pairs", t, Movement::Shrink(std::move(dims)));
  });
}

// ** elementwise **

ValueOr GraphBuilder::Alu(Op op, absl::Span<const Source> src) {
  return impl_->Add(op, [&](BuilderCall& call) -> RefOr {
    Graph& g = impl_->graph();
    if (!uop::IsAlu(op) || op == Op::kCast || op == Op::kBitcast) {
      return call.Wrong("op", "it is not elementwise");
    }
    const size_t operands = uop::Info(op).min_src;
    if (src.size() != operands) {
      return call.Wrong("src", "it takes ", operands, " sources, not ", src.size());
    }
    KILN_ASSIGN_OR_RETURN(std::vector<Ref> refs, call.All(src));
    KILN_ASSIGN_OR_RETURN(const DType operand, call.OperandDType(refs));
    const DType result = uop::IsComparison(op) ? DType::kBool : operand;
    if (operand == DType::kIndex) return call.IndexAlu(result, refs);
    for (size_t i = 1; i < refs.size(); ++i) {
      KILN_ASSIGN_OR_RETURN(refs[i], call.WithShapeOf(absl::StrCat("src ", i), refs[i], refs[0]));
    }
    return g.Make(op, result, refs);
  });
}

ValueOr GraphBuilder::Cast(const Source& x, DType to) {
  return impl_->Add(Op::kCast, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Any("src 0", x));
    if (!IsDType(to)) return call.Wrong("dtype", "it is no dtype of a value");
    if (to == DType::kIndex && (dtype::IsFloat(t->dtype) || !impl_->IsDim(t))) {
      return call.Wrong("src 0", "a size must be an integer that does not depend on data");
    }
    if (t->dtype == DType::kIndex || to == DType::kIndex) {
      KILN_RETURN_IF_ERROR(call.Charge("src 0", {t}));
    }
    return impl_->graph().Cast(t, to);
  });
}

ValueOr GraphBuilder::Bitcast(const Source& x, DType to) {
  return impl_->Add(Op::kBitcast, [&](BuilderCall& call) -> RefOr {
    Graph& g = impl_->graph();
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    KILN_RETURN_IF_ERROR(call.CheckStorable("dtype", to));
    Ref cast = g.Make(Op::kBitcast, to, {t});
    const auto shape = uop::ShapeOf(g, cast);
    if (!shape.ok()) return call.In("dtype", shape.status());
    std::vector<Ref> dims(shape->begin(), shape->end());
    for (Ref& d : dims) {
      KILN_ASSIGN_OR_RETURN(d, symbolic::Simplify(g, d));
    }
    if (absl::MakeConstSpan(dims) == *shape) return cast;
    return Apply(g, cast, Movement::Reshape(std::move(dims)));
  });
}

// ** tensors **

ValueOr GraphBuilder::Reduce(Op op, const Source& x, absl::Span<const int64_t> axes) {
  return impl_->Add(Op::kReduce, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    if (!IsReduction(op)) return call.Wrong("op", "it is none of add, mul and max");
    if (!dtype::IsDefined(uop::ToAlu(op), t->dtype)) {
      return call.Wrong("dtype", View(uop::Name(op)), " is not defined on ",
                        View(dtype::Name(t->dtype)));
    }
    if (axes.empty()) return call.Wrong("axes", "there are none");
    KILN_ASSIGN_OR_RETURN(const uint32_t mask, call.AxisMask("axes", axes, call.Shape(t).size()));
    return impl_->graph().Make(Op::kReduce, t->dtype, {t}, Arg::Of(ReduceArg{op, mask}));
  });
}

ValueOr GraphBuilder::Contiguous(const Source& x) {
  return impl_->Add(Op::kContiguous, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    return impl_->graph().Unary(Op::kContiguous, t);
  });
}

ValueOr GraphBuilder::Detach(const Source& x) {
  return impl_->Add(Op::kDetach, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    return impl_->graph().Unary(Op::kDetach, t);
  });
}

ValueOr GraphBuilder::Assign(const Source& target, const Source& value) {
  return impl_->Add(Op::kAssign, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("target", target));
    KILN_ASSIGN_OR_RETURN(Ref v, call.Tensor("value", value));
    if (v->dtype != t->dtype) {
      return call.Wrong("value", "its dtype is not that of the target, ",
                        std::string(dtype::Name(t->dtype)));
    }
    const internal::BuilderState::Target place = impl_->TargetOf(t);
    if (place.slot_plus_1 == 0) {
      return call.Wrong("target",
                        "it is no input and no movement of one that finds each element "
                        "at most once");
    }
    if (place.pads) {
      KILN_RETURN_IF_ERROR(call.CheckCutOff(t, place.steps));
    }
    KILN_ASSIGN_OR_RETURN(v, call.WithShapeOf("value", v, t));
    return impl_->graph().Make(Op::kAssign, t->dtype, {t, v});
  });
}

// ** devices **

ValueOr GraphBuilder::Copy(const Source& x, absl::string_view device) {
  return impl_->Add(Op::kCopy, [&](BuilderCall& call) -> RefOr {
    Graph& g = impl_->graph();
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    const std::string_view name(device.data(), device.size());
    KILN_RETURN_IF_ERROR(call.CheckDevice("device", name));
    return g.Make(Op::kCopy, t->dtype, {t}, g.PayloadArg(name, {}));
  });
}

ValueOr GraphBuilder::Shard(const Source& x, absl::Span<const std::string> devices,
                            std::optional<int64_t> axis) {
  return impl_->Add(Op::kShard, [&](BuilderCall& call) -> RefOr {
    Graph& g = impl_->graph();
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    if (devices.size() < 2) return call.Wrong("devices", "there are fewer than two");
    if (static_cast<int64_t>(devices.size()) > impl_->limits().devices) {
      return call.BeyondLimit("devices", "devices", impl_->limits().devices);
    }
    for (const std::string& device : devices) {
      KILN_RETURN_IF_ERROR(call.CheckDevice("devices", device));
      if (std::count(devices.begin(), devices.end(), device) > 1) {
        return call.Wrong("devices", "\"", device, "\" is named twice");
      }
    }
    std::vector<int64_t> ints;
    if (axis.has_value()) {
      KILN_RETURN_IF_ERROR(call.CheckAxis("axis", *axis, call.Shape(t).size()));
      ints.push_back(*axis);
    }
    return g.Make(Op::kShard, t->dtype, {t}, g.PayloadArg(absl::StrJoin(devices, ","), ints));
  });
}

ValueOr GraphBuilder::Unshard(const Source& x) {
  return impl_->Add(Op::kUnshard, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    return impl_->graph().Unary(Op::kUnshard, t);
  });
}

ValueOr GraphBuilder::AllReduce(Op op, const Source& x) {
  return impl_->Add(Op::kAllReduce, [&](BuilderCall& call) -> RefOr {
    KILN_ASSIGN_OR_RETURN(Ref t, call.Tensor("src 0", x));
    if (!IsReduction(op)) return call.Wrong("op", "it is none of add, mul and max");
    if (!dtype::IsDefined(uop::ToAlu(op), t->dtype)) {
      return call.Wrong("dtype", View(uop::Name(op)), " is not defined on ",
                        View(dtype::Name(t->dtype)));
    }
    return impl_->graph().Make(Op::kAllReduce, t->dtype, {t}, Arg::Of(ReduceArg{op, 0}));
  });
}

// ** the function library **: Call is in functions/call.cc, Gradient in graph_builder_gradient.cc.

// ** questions **

absl::StatusOr<DType> GraphBuilder::DTypeOf(Value v) const {
  KILN_ASSIGN_OR_RETURN(Ref n, impl_->Get(v));
  return n->dtype;
}

absl::StatusOr<absl::Span<const Ref>> GraphBuilder::ShapeOf(Value v) const {
  KILN_ASSIGN_OR_RETURN(Ref n, impl_->Get(v));
  return uop::ShapeOf(impl_->graph(), n);
}

int64_t GraphBuilder::num_nodes() const { return impl_->num_calls(); }

absl::StatusOr<TensorGraph> GraphBuilder::Finish(absl::Span<const Source> outputs) && {
  return impl_->Finish(outputs);
}

}  // namespace kiln::tensor
