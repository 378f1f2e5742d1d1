#include "server/graph/node_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/uop/op.h"
#include "server/graph/dtypes.h"

namespace kiln::server {
namespace {

using tensor::Dim;
using tensor::Source;
using tensor::Value;

constexpr int kAny = std::numeric_limits<int>::max();

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

OpForm Leaf(pb::Node::ArgCase arg, bool needs_dtype) {
  return {.arg = arg, .needs_dtype = needs_dtype};
}
OpForm Unary(pb::Node::ArgCase arg = pb::Node::ARG_NOT_SET) {
  return {.min_src = 1, .max_src = 1, .arg = arg};
}
OpForm Alu(Op op) {
  return {.alu = op, .min_src = uop::Info(op).min_src, .max_src = uop::Info(op).min_src};
}

std::string ArgName(pb::Node::ArgCase arg) {
  return pb::Node::descriptor()->FindFieldByNumber(arg)->name();
}

// The mathematical value of an integer of either sign.
std::optional<Int128> IntegerOf(const pb::Scalar& s) {
  if (s.value_case() == pb::Scalar::kIntValue) return Int128{s.int_value()};
  if (s.value_case() == pb::Scalar::kUintValue) return Int128{s.uint_value()};
  return std::nullopt;
}

bool Fits(Int128 v, DType d) {
  if (d == DType::kIndex) return v >= INT64_MIN && v <= INT64_MAX;
  return v >= dtype::MinValue(d) && v <= dtype::MaxValue(d);
}

}  // namespace

std::optional<OpForm> FormOf(pb::Op op) {
  switch (op) {
    case pb::OP_INPUT:
      return Leaf(pb::Node::kInput, true);
    case pb::OP_CONST:
      return Leaf(pb::Node::kConstant, true);
    case pb::OP_VARIABLE:
      return Leaf(pb::Node::kVariable, false);
    case pb::OP_IOTA:
      return Leaf(pb::Node::kIota, true);
    case pb::OP_RESHAPE:
    case pb::OP_EXPAND:
    case pb::OP_PAD:
    case pb::OP_SHRINK:
      return Unary(pb::Node::kDims);
    case pb::OP_PERMUTE:
    case pb::OP_FLIP:
      return Unary(pb::Node::kAxes);
    case pb::OP_CAST:
    case pb::OP_BITCAST:
      return OpForm{.min_src = 1, .max_src = 1, .needs_dtype = true};
    case pb::OP_NEG:
      return Alu(Op::kNeg);
    case pb::OP_RECIP:
      return Alu(Op::kRecip);
    case pb::OP_SQRT:
      return Alu(Op::kSqrt);
    case pb::OP_EXP2:
      return Alu(Op::kExp2);
    case pb::OP_LOG2:
      return Alu(Op::kLog2);
    case pb::OP_SIN:
      return Alu(Op::kSin);
    case pb::OP_TRUNC:
      return Alu(Op::kTrunc);
    case pb::OP_ADD:
      return Alu(Op::kAdd);
    case pb::OP_SUB:
      return Alu(Op::kSub);
    case pb::OP_MUL:
      return Alu(Op::kMul);
    case pb::OP_FDIV:
      return Alu(Op::kFDiv);
    case pb::OP_IDIV:
      return Alu(Op::kIDiv);
    case pb::OP_MOD:
      return Alu(Op::kMod);
    case pb::OP_MAX:
      return Alu(Op::kMax);
    case pb::OP_POW:
      return Alu(Op::kPow);
    case pb::OP_CMPLT:
      return Alu(Op::kCmpLt);
    case pb::OP_CMPNE:
      return Alu(Op::kCmpNe);
    case pb::OP_CMPEQ:
      return Alu(Op::kCmpEq);
    case pb::OP_AND:
      return Alu(Op::kAnd);
    case pb::OP_OR:
      return Alu(Op::kOr);
    case pb::OP_XOR:
      return Alu(Op::kXor);
    case pb::OP_SHL:
      return Alu(Op::kShl);
    case pb::OP_SHR:
      return Alu(Op::kShr);
    case pb::OP_THREEFRY:
      return Alu(Op::kThreefry);
    case pb::OP_WHERE:
      return Alu(Op::kWhere);
    case pb::OP_MULACC:
      return Alu(Op::kMulAcc);
    case pb::OP_REDUCE:
    case pb::OP_ALLREDUCE:
      return Unary(pb::Node::kReduce);
    case pb::OP_CONTIGUOUS:
    case pb::OP_DETACH:
    case pb::OP_UNSHARD:
      return Unary();
    case pb::OP_ASSIGN:
      return OpForm{.min_src = 2, .max_src = 2};
    case pb::OP_COPY:
      return Unary(pb::Node::kDevice);
    case pb::OP_SHARD:
      return Unary(pb::Node::kShard);
    case pb::OP_CALL:
      return OpForm{.max_src = kAny, .arg = pb::Node::kCall};
    case pb::OP_GRADIENT:
      return OpForm{.min_src = 2, .max_src = kAny, .arg = pb::Node::kGradient};
    default:
      return std::nullopt;
  }
}

std::string OpName(pb::Op op) {
  if (!pb::Op_IsValid(op)) return absl::StrCat("op ", static_cast<int>(op));
  return absl::AsciiStrToLower(absl::StripPrefix(pb::Op_Name(op), "OP_"));
}

std::string_view CutText(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<uint8_t>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// ** messages **

std::string NodeReader::Name() const {
  std::string label;
  if (!node_.label().empty()) {
    const auto most = static_cast<size_t>(limits_.name_bytes);
    label = absl::StrCat(" \"", View(CutText(node_.label(), most)), "\"");
  }
  return absl::StrCat("node ", number_, label, " (", OpName(node_.op()), ")");
}

std::string NodeReader::Message(std::string_view field, std::string_view what) const {
  return absl::StrCat(Name(), ", ", View(field), ": ", View(what));
}

absl::Status NodeReader::Spend(std::string_view field, int64_t entries) const {
  if ((budget_.entries -= entries) >= 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      Message(field, absl::StrCat("more than the limit of ", budget_.most,
                                  " sources, axes, sizes and entries of lists in all")));
}

absl::Status NodeReader::CheckName(std::string_view field, std::string_view name) const {
  if (static_cast<int64_t>(name.size()) <= limits_.name_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(Message(
      field, absl::StrCat("it has ", name.size(), " bytes, the limit is ", limits_.name_bytes)));
}

// ** what every op has **

absl::StatusOr<OpForm> NodeReader::CheckForm() const {
  const std::optional<OpForm> form = FormOf(node_.op());
  if (!form.has_value()) {
    return Wrong("op", node_.op() == pb::OP_UNSPECIFIED ? "it is missing" : "there is no such op");
  }
  const int src = node_.src_size();
  if (src < form->min_src || src > form->max_src) {
    return Wrong("src", src, " given, it takes ", form->max_src == kAny ? "at least " : "",
                 form->min_src);
  }
  if (node_.arg_case() != form->arg) {
    const std::string want =
        form->arg == pb::Node::ARG_NOT_SET ? "it takes none" : "it takes " + ArgName(form->arg);
    return Wrong(
        "arg",
        node_.arg_case() == pb::Node::ARG_NOT_SET ? std::string("none") : ArgName(node_.arg_case()),
        " given, ", want);
  }
  if (form->needs_dtype && node_.dtype() == pb::DTYPE_UNSPECIFIED) {
    return Wrong("dtype", "it is missing");
  }
  return *form;
}

absl::StatusOr<std::optional<DType>> NodeReader::GivenDType() const {
  if (node_.dtype() == pb::DTYPE_UNSPECIFIED) return std::nullopt;
  const std::optional<DType> dtype = FromProto(node_.dtype());
  if (!dtype.has_value()) {
    return Wrong("dtype", "there is no dtype ", static_cast<int>(node_.dtype()));
  }
  return dtype;
}

absl::StatusOr<Value> NodeReader::Earlier(std::string_view field, uint32_t node) const {
  if (node < earlier_.size()) return earlier_[node];
  return Wrong(field, "node ", node, " does not come before node ", number_);
}

absl::StatusOr<std::vector<Source>> NodeReader::Sources() const {
  KILN_RETURN_IF_ERROR(Spend("src", node_.src_size()));
  std::vector<Source> sources;
  sources.reserve(static_cast<size_t>(node_.src_size()));
  for (const uint32_t s : node_.src()) {
    if (s >= earlier_.size()) return Earlier(absl::StrCat("src ", sources.size()), s).status();
    sources.emplace_back(earlier_[s]);
  }
  return sources;
}

// ** fields **

absl::StatusOr<std::vector<Dim>> NodeReader::Dims(std::string_view field,
                                                  const DimList& dims) const {
  KILN_RETURN_IF_ERROR(Spend(field, dims.size()));
  std::vector<Dim> result;
  result.reserve(static_cast<size_t>(dims.size()));
  for (const pb::Dim& dim : dims) {
    const auto entry = [&] { return absl::StrCat(View(field), "[", result.size(), "]"); };
    if (dim.dim_case() == pb::Dim::DIM_NOT_SET) return Wrong(entry(), "neither value nor node");
    if (dim.dim_case() == pb::Dim::kValue) {
      result.emplace_back(dim.value());
    } else if (dim.node() < earlier_.size()) {
      result.emplace_back(earlier_[dim.node()]);
    } else {
      return Earlier(entry(), dim.node()).status();
    }
  }
  return result;
}

absl::StatusOr<std::vector<int64_t>> NodeReader::Axes(
    std::string_view field, const google::protobuf::RepeatedField<int32_t>& axes) const {
  KILN_RETURN_IF_ERROR(Spend(field, axes.size()));
  return std::vector<int64_t>(axes.begin(), axes.end());
}

absl::StatusOr<Op> NodeReader::Reduction() const {
  switch (node_.reduce().op()) {
    case pb::REDUCE_OP_ADD:
      return Op::kAdd;
    case pb::REDUCE_OP_MUL:
      return Op::kMul;
    case pb::REDUCE_OP_MAX:
      return Op::kMax;
    default:
      return Wrong("reduce.op", "it must be one of add, mul and max");
  }
}

absl::StatusOr<Scalar> NodeReader::Constant(DType dtype) const {
  const pb::Scalar& s = node_.constant();
  const auto wrong = [&](std::string_view what) {
    return Wrong("constant", View(what), " given, dtype is ", View(dtype::Name(dtype)));
  };
  switch (s.value_case()) {
    case pb::Scalar::VALUE_NOT_SET:
      return Wrong("constant", "it has no value");
    case pb::Scalar::kBoolValue:
      if (dtype != DType::kBool) return wrong("bool_value");
      return Scalar::Bool(s.bool_value());
    case pb::Scalar::kFloatValue:
      if (!dtype::IsFloat(dtype)) return wrong("float_value");
      return *dtype::Cast(Scalar::Float(s.float_value()), DType::kFloat64, dtype);
    case pb::Scalar::kIntValue:
    case pb::Scalar::kUintValue:
      break;
  }
  const bool is_signed = s.value_case() == pb::Scalar::kIntValue;
  if (dtype == DType::kBool) return wrong(is_signed ? "int_value" : "uint_value");
  const DType from = is_signed ? DType::kInt64 : DType::kUInt64;
  const Scalar value =
      Scalar::FromBits(is_signed ? static_cast<uint64_t>(s.int_value()) : s.uint_value());
  if (!dtype::IsFloat(dtype) && !Fits(*IntegerOf(s), dtype)) {
    return Wrong("constant", ToString(*IntegerOf(s)), " is no value of ", View(dtype::Name(dtype)));
  }
  return *dtype::Cast(value, from, dtype);
}

absl::StatusOr<std::vector<std::string>> NodeReader::Devices() const {
  const auto& devices = node_.shard().devices();
  if (devices.size() > limits_.devices) {
    return absl::ResourceExhaustedError(Message(
        "shard.devices", absl::StrCat(devices.size(), " given, the limit is ", limits_.devices)));
  }
  return std::vector<std::string>(devices.begin(), devices.end());
}

// ** CALL **

absl::StatusOr<std::vector<std::optional<Source>>> NodeReader::CallInputs(
    const std::vector<Source>& sources) const {
  const auto& omitted = node_.call().omitted();
  KILN_RETURN_IF_ERROR(Spend("call.omitted", omitted.size()));
  const size_t total = sources.size() + static_cast<size_t>(omitted.size());
  std::vector<std::optional<Source>> inputs;
  inputs.reserve(total);
  size_t next = 0;
  for (const uint32_t position : omitted) {
    if (position < inputs.size()) {
      return Wrong("call.omitted", "the positions do not rise, at ", position);
    }
    if (position - inputs.size() > sources.size() - next) {
      return Wrong("call.omitted", "there is no position ", position, ", with ", sources.size(),
                   " sources");
    }
    while (inputs.size() < position) inputs.emplace_back(sources[next++]);
    inputs.emplace_back();
  }
  inputs.insert(inputs.end(), sources.begin() + static_cast<int64_t>(next), sources.end());
  return inputs;
}

absl::StatusOr<tensor::AttributeValue> NodeReader::Attribute(
    std::string_view field, const pb::AttributeValue& value) const {
  switch (value.value_case()) {
    case pb::AttributeValue::kIntValue:
      return tensor::AttributeValue(value.int_value());
    case pb::AttributeValue::kFloatValue:
      return tensor::AttributeValue(value.float_value());
    case pb::AttributeValue::kBoolValue:
      return tensor::AttributeValue(value.bool_value());
    case pb::AttributeValue::kText:
      KILN_RETURN_IF_ERROR(CheckName(field, value.text()));
      return tensor::AttributeValue(value.text());
    case pb::AttributeValue::kDtype:
      if (const auto dtype = FromProto(value.dtype())) return tensor::AttributeValue(*dtype);
      return Wrong(field, "there is no dtype ", static_cast<int>(value.dtype()));
    case pb::AttributeValue::kInts: {
      const auto& ints = value.ints().values();
      KILN_RETURN_IF_ERROR(Spend(field, ints.size()));
      return tensor::AttributeValue(std::vector<int64_t>(ints.begin(), ints.end()));
    }
    case pb::AttributeValue::kSizes: {
      KILN_ASSIGN_OR_RETURN(std::vector<Dim> sizes, Dims(field, value.sizes().dims()));
      return tensor::AttributeValue(std::move(sizes));
    }
    case pb::AttributeValue::VALUE_NOT_SET:
      break;
  }
  return Wrong(field, "it has no value");
}

absl::StatusOr<std::vector<tensor::Attribute>> NodeReader::CallAttributes() const {
  const pb::CallArg& call = node_.call();
  KILN_RETURN_IF_ERROR(CheckName("call.function", call.function()));
  KILN_RETURN_IF_ERROR(Spend("call.attributes", static_cast<int64_t>(call.attributes().size())));
  std::vector<const google::protobuf::MapPair<std::string, pb::AttributeValue>*> sorted;
  for (const auto& entry : call.attributes()) {
    KILN_RETURN_IF_ERROR(CheckName("call.attributes, a name", entry.first));
    sorted.push_back(&entry);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  std::vector<tensor::Attribute> attributes;
  for (const auto* entry : sorted) {
    KILN_ASSIGN_OR_RETURN(
        tensor::AttributeValue value,
        Attribute(absl::StrCat("call.attributes[\"", entry->first, "\"]"), entry->second));
    attributes.push_back({entry->first, std::move(value)});
  }
  return attributes;
}

}  // namespace kiln::server
