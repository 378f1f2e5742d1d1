#include "server/graph/import.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

#include "core/dtype/status.h"
#include "server/graph/node_reader.h"

namespace kiln::server {
namespace {

using tensor::Source;
using tensor::Value;

constexpr size_t kMaxMessageBytes = 2048;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Equal for CALLs that are one: all but the output, in bytes.
std::string KeyOf(const pb::Node& node) {
  pb::Node key;
  *key.mutable_src() = node.src();
  *key.mutable_call() = node.call();
  key.mutable_call()->clear_output();
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  key.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

// Confined to one thread.
class Importer {
 public:
  explicit Importer(const tensor::GraphLimits& limits)
      : limits_(limits), b_(limits), budget_{.entries = 2 * limits.dims} {}

  absl::StatusOr<tensor::TensorGraph> Import(const pb::Graph& graph,
                                             absl::Span<const uint32_t> outputs) {
    if (graph.nodes_size() > limits_.nodes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "graph: ", graph.nodes_size(), " nodes given, the limit is ", limits_.nodes));
    }
    nodes_.reserve(static_cast<size_t>(graph.nodes_size()));
    for (const pb::Node& node : graph.nodes()) {
      const auto number = static_cast<uint32_t>(nodes_.size());
      const absl::StatusOr<Value> made = Add(node, number);
      if (!made.ok()) return Blame(made.status(), number);
      nodes_.push_back(*made);
    }
    std::vector<Source> sources;
    for (const uint32_t output : outputs) {
      if (output >= nodes_.size()) {
        return absl::InvalidArgumentError(absl::StrCat("outputs[", sources.size(), "]: no node ",
                                                       output, ", there are ", nodes_.size()));
      }
      if (*b_.DTypeOf(nodes_[output]) == DType::kIndex) {
        return Blame(absl::InvalidArgumentError(absl::StrCat(
                         "outputs[", sources.size(), "]: node ", output,
                         " has dtype index, which does not lie in memory: cast it first")),
                     output);
      }
      sources.emplace_back(nodes_[output]);
    }
    return std::move(b_).Finish(sources);
  }

 private:
  static absl::Status Blame(absl::Status status, uint32_t number) {
    status.SetPayload(kNodePayload, absl::Cord(absl::string_view(absl::StrCat(number))));
    return status;
  }

  // The node in its own and the builder's words.
  absl::StatusOr<Value> Add(const pb::Node& node, uint32_t number) {
    const NodeReader reader(node, number, nodes_, limits_, budget_);
    KILN_ASSIGN_OR_RETURN(const OpForm form, reader.CheckForm());
    KILN_ASSIGN_OR_RETURN(const std::optional<DType> dtype, reader.GivenDType());
    KILN_ASSIGN_OR_RETURN(const std::vector<Source> src, reader.Sources());
    if (!node.label().empty()) {
      b_.Label(View(CutText(node.label(), static_cast<size_t>(limits_.name_bytes))));
    }
    b_.Number(number);
    KILN_ASSIGN_OR_RETURN(const Value made, node.op() == pb::OP_CALL
                                                ? Call(reader, node, src)
                                                : Primitive(reader, form, node, dtype, src));
    KILN_ASSIGN_OR_RETURN(const DType is, b_.DTypeOf(made));
    if (dtype.has_value() && *dtype != is) {
      return reader.Wrong("dtype", View(dtype::Name(*dtype)), " given, it is ",
                          View(dtype::Name(is)));
    }
    return made;
  }

  absl::StatusOr<Value> Primitive(const NodeReader& reader, const OpForm& form,
                                  const pb::Node& node, std::optional<DType> dtype,
                                  const std::vector<Source>& src) {
    if (form.alu.has_value()) return b_.Alu(*form.alu, src);
    switch (form.arg) {
      case pb::Node::kInput:
      case pb::Node::kConstant:
      case pb::Node::kVariable:
      case pb::Node::kIota:
        return Leaf(reader, node, dtype.value_or(DType::kVoid));
      case pb::Node::kDims:
      case pb::Node::kAxes:
        return Move(reader, node, src[0]);
      case pb::Node::kReduce:
        return Reduce(reader, node, src[0]);
      case pb::Node::kDevice:
        return b_.Copy(src[0], node.device());
      case pb::Node::kShard:
        return Shard(reader, node, src[0]);
      case pb::Node::kGradient:
        return Gradient(reader, node.gradient(), src);
      case pb::Node::kCall:
      case pb::Node::ARG_NOT_SET:
        break;
    }
    switch (node.op()) {
      case pb::OP_CAST:
        return b_.Cast(src[0], *dtype);
      case pb::OP_BITCAST:
        return b_.Bitcast(src[0], *dtype);
      case pb::OP_CONTIGUOUS:
        return b_.Contiguous(src[0]);
      case pb::OP_DETACH:
        return b_.Detach(src[0]);
      case pb::OP_ASSIGN:
        return b_.Assign(src[0], src[1]);
      case pb::OP_UNSHARD:
        return b_.Unshard(src[0]);
      default:
        return absl::InternalError(absl::StrCat(reader.Name(), ": an op that is not imported"));
    }
  }

  absl::StatusOr<Value> Leaf(const NodeReader& reader, const pb::Node& node, DType dtype) {
    switch (node.op()) {
      case pb::OP_INPUT: {
        const pb::InputArg& input = node.input();
        KILN_ASSIGN_OR_RETURN(const auto dims, reader.Dims("input.dims", input.dims()));
        return b_.Input(input.slot(), dtype, dims, input.device());
      }
      case pb::OP_CONST: {
        KILN_ASSIGN_OR_RETURN(const Scalar value, reader.Constant(dtype));
        return b_.Const(dtype, value);
      }
      case pb::OP_IOTA: {
        KILN_ASSIGN_OR_RETURN(const auto dims, reader.Dims("iota.dims", node.iota().dims()));
        return b_.Iota(dtype, dims, node.iota().axis());
      }
      default:
        return b_.Variable(node.variable().name(), node.variable().min(), node.variable().max());
    }
  }

  absl::StatusOr<Value> Move(const NodeReader& reader, const pb::Node& node, const Source& x) {
    if (node.op() == pb::OP_PERMUTE || node.op() == pb::OP_FLIP) {
      KILN_ASSIGN_OR_RETURN(const auto axes, reader.Axes("axes", node.axes().axes()));
      return node.op() == pb::OP_FLIP ? b_.Flip(x, axes) : b_.Permute(x, axes);
    }
    KILN_ASSIGN_OR_RETURN(const auto dims, reader.Dims("dims", node.dims().dims()));
    if (node.op() == pb::OP_RESHAPE) return b_.Reshape(x, dims);
    if (node.op() == pb::OP_EXPAND) return b_.Expand(x, dims);
    return node.op() == pb::OP_PAD ? b_.Pad(x, dims) : b_.Shrink(x, dims);
  }

  absl::StatusOr<Value> Reduce(const NodeReader& reader, const pb::Node& node, const Source& x) {
    KILN_ASSIGN_OR_RETURN(const Op op, reader.Reduction());
    KILN_ASSIGN_OR_RETURN(const auto axes, reader.Axes("reduce.axes", node.reduce().axes()));
    if (node.op() == pb::OP_REDUCE) return b_.Reduce(op, x, axes);
    if (axes.empty()) return b_.AllReduce(op, x);
    return reader.Wrong("reduce.axes", axes.size(), " given, it takes none");
  }

  absl::StatusOr<Value> Shard(const NodeReader& reader, const pb::Node& node, const Source& x) {
    KILN_ASSIGN_OR_RETURN(const auto devices, reader.Devices());
    std::optional<int64_t> axis;
    if (node.shard().has_axis()) axis = node.shard().axis();
    return b_.Shard(x, devices, axis);
  }

  absl::StatusOr<Value> Gradient(const NodeReader& reader, const pb::GradientArg& arg,
                                 const std::vector<Source>& src) {
    const size_t first = arg.has_seed() ? 2 : 1;
    const size_t num_x = src.size() - first;
    if (arg.which() >= num_x) {
      return reader.Wrong("gradient.which", "no x ", arg.which(), ", there are ", num_x);
    }
    std::optional<Source> seed;
    if (arg.has_seed()) seed = src[1];
    return b_.Gradient(src[0], seed, absl::MakeSpan(src).subspan(first), arg.which());
  }

  absl::StatusOr<Value> Call(const NodeReader& reader, const pb::Node& node,
                             const std::vector<Source>& src) {
    KILN_ASSIGN_OR_RETURN(const auto attributes, reader.CallAttributes());
    const auto [it, is_new] = calls_.try_emplace(KeyOf(node));
    if (is_new) {
      KILN_ASSIGN_OR_RETURN(const auto inputs, reader.CallInputs(src));
      KILN_ASSIGN_OR_RETURN(it->second, b_.Call(node.call().function(), inputs, attributes));
    }
    const std::vector<Value>& outputs = it->second;
    if (node.call().output() < outputs.size()) return outputs[node.call().output()];
    return reader.Wrong("call.output", "no output ", node.call().output(), ", there are ",
                        outputs.size());
  }

  const tensor::GraphLimits& limits_;
  tensor::GraphBuilder b_;
  ReadBudget budget_;
  std::vector<Value> nodes_;
  absl::flat_hash_map<std::string, std::vector<Value>> calls_;  // By KeyOf.
};

// The status with a message that can be sent wherever it came from.
absl::Status Bounded(const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  if (message.size() <= kMaxMessageBytes) return status;
  absl::Status cut(status.code(), absl::StrCat(View(CutText(message, kMaxMessageBytes)), "..."));
  status.ForEachPayload(
      [&cut](absl::string_view url, const absl::Cord& payload) { cut.SetPayload(url, payload); });
  return cut;
}

}  // namespace

absl::StatusOr<tensor::TensorGraph> ImportGraph(const pb::Graph& graph,
                                                absl::Span<const uint32_t> outputs,
                                                const tensor::GraphLimits& limits) {
  auto imported = Importer(limits).Import(graph, outputs);
  if (!imported.ok()) return Bounded(imported.status());
  return imported;
}

}  // namespace kiln::server
