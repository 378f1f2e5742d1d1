#include "client/cpp/tensor.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

#include "client/cpp/internal/core.h"
#include "client/cpp/internal/hold.h"
#include "client/cpp/internal/tensor_node.h"

namespace kiln {
namespace {

using client::Core;
using client::LoweredGraph;
using client::NodeRef;
using client::Realized;
using client::TensorNode;

// Realizes nodes of one session, none of which is realized. Holds the session's lock on realizing:
// what several threads ask for is computed once.
absl::Status RunNodes(const std::vector<NodeRef>& nodes) {
  const std::shared_ptr<Core>& core = nodes[0]->core;
  Session session(core);
  absl::StatusOr<LoweredGraph> lowered = client::Lower(nodes, {});
  if (!lowered.ok()) return lowered.status();
  const EncodedGraph graph(lowered->graph);
  std::vector<Binding> inputs;
  for (uint32_t slot = 0; slot < lowered->leaves.size(); ++slot) {
    inputs.push_back({slot, lowered->leaves[slot]->realized()->buffer});
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeRef assigned = client::AssignedLeaf(*nodes[i]);
    outputs.push_back({lowered->outputs[i],
                       assigned != nullptr ? assigned->realized()->buffer : session.NewBuffer()});
  }
  const client::KnownResults::Key key = {graph.hash(), lowered->outputs};
  const std::optional<v1::GraphResult> known = core->known_results().Find(key);
  const Future<v1::GraphResult> run = session.Run(graph, inputs, outputs);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto index = static_cast<int>(i);
    if (const NodeRef target = client::AssignedLeaf(*nodes[i])) {
      nodes[i]->SetRealized(*target->realized());
      continue;
    }
    Realized realized = {.buffer = outputs[i].buffer, .run = run, .key = key, .index = index};
    if (known.has_value()) realized.info = client::FromProto(known->outputs(index));
    nodes[i]->SetRealized(std::move(realized));
  }
  return absl::OkStatus();
}

Tensor NewNode(const std::shared_ptr<Core>& core, v1::Op op, const std::vector<Tensor>& src,
               v1::Node arg = {}) {
  std::vector<NodeRef> nodes;
  absl::Status error;
  for (const Tensor& tensor : src) {
    nodes.push_back(tensor.node());
    if (tensor.node()->core != core) {
      error = absl::InvalidArgumentError("tensors of different sessions in one expression");
    }
  }
  auto node = std::make_shared<TensorNode>(core, std::move(nodes));
  node->error = std::move(error);
  node->node = std::move(arg);
  node->node.set_op(op);
  return Tensor(std::move(node));
}

struct SetValue {
  v1::AttributeValue& to;
  void operator()(int64_t v) const { to.set_int_value(v); }
  void operator()(double v) const { to.set_float_value(v); }
  void operator()(bool v) const { to.set_bool_value(v); }
  void operator()(const std::string& v) const { to.set_text(v); }
  void operator()(v1::DType v) const { to.set_dtype(v); }
  void operator()(const std::vector<int64_t>& v) const {
    to.mutable_ints();
    for (const int64_t i : v) to.mutable_ints()->add_values(i);
  }
  void operator()(const Dims&) const { to.mutable_sizes(); }  // When the graph is made.
};

Tensor NewCall(const std::shared_ptr<Core>& core, std::string_view function,
               const std::vector<Tensor>& inputs, const Attributes& attributes, uint32_t output) {
  v1::Node arg;
  v1::CallArg& call = *arg.mutable_call();
  call.set_function(std::string(function));
  call.set_output(output);
  std::vector<Tensor> given;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    inputs[i].is_set() ? given.push_back(inputs[i]) : call.add_omitted(i);
  }
  // Those at the end are simply not there.
  for (size_t end = inputs.size(); end > 0 && !inputs[end - 1].is_set(); --end) {
    call.mutable_omitted()->RemoveLast();
  }
  std::vector<std::pair<std::string, Dims>> sizes;
  for (const auto& [name, attribute] : attributes) {
    std::visit(SetValue{(*call.mutable_attributes())[name]}, attribute.value());
    if (const Dims* dims = std::get_if<Dims>(&attribute.value())) sizes.emplace_back(name, *dims);
  }
  const Tensor made = NewNode(core, v1::OP_CALL, given, std::move(arg));
  auto node = std::make_shared<TensorNode>(*made.node());
  node->sizes = std::move(sizes);
  return Tensor(std::move(node));
}

Tensor Broken(const std::shared_ptr<Core>& core, absl::Status error) {
  auto node = std::make_shared<TensorNode>(core);
  node->error = std::move(error);
  return Tensor(std::move(node));
}

}  // namespace

int64_t TensorInfo::elems() const {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= dim;
  return n;
}

size_t SizeBytes(v1::DType dtype) {
  switch (dtype) {
    case kBool:
    case kInt8:
    case kUInt8:
    case kFp8E4M3:
    case kFp8E5M2:
      return 1;
    case kInt16:
    case kUInt16:
    case kFloat16:
    case kBFloat16:
      return 2;
    case kInt32:
    case kUInt32:
    case kFloat32:
      return 4;
    case kInt64:
    case kUInt64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

absl::Status FitsDType(v1::DType wanted, v1::DType is) {
  if (wanted == is) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the tensor has ", v1::DType_Name(is),
                                                 ", asked for as ", v1::DType_Name(wanted)));
}

// ** leaves **

Tensor Tensor::FromBuffer(Session& session, Buffer buffer, TensorInfo info) {
  auto node = std::make_shared<TensorNode>(session.core());
  node->SetRealized({.buffer = std::move(buffer), .info = std::move(info)});
  return Tensor(std::move(node));
}

Tensor Tensor::FromBytes(Session& session, absl::Span<const std::byte> bytes, TensorInfo info,
                         Future<void>* copied) {
  if (bytes.size() != info.bytes()) {
    return Broken(session.core(), absl::InvalidArgumentError(
                                      absl::StrCat(bytes.size(), " bytes given for ", info.elems(),
                                                   " elements of ", v1::DType_Name(info.dtype))));
  }
  const auto hold = session.Hold();
  Buffer buffer = session.Alloc(bytes.size(), info.device);
  const Future<void> done = session.CopyIn(buffer, 0, bytes);
  if (copied != nullptr) {
    *copied = done;
  } else if (bytes.size() > session.server_info().limits().max_inline_bytes()) {
    done.Wait();  // The caller may change them after this. What went wrong is seen in what reads it.
  }
  return FromBuffer(session, std::move(buffer), std::move(info));
}

Tensor Tensor::Input(Session& session, Dims dims, v1::DType dtype, const std::string& device) {
  auto node = std::make_shared<TensorNode>(session.core());
  node->node.set_op(v1::OP_INPUT);
  node->node.set_dtype(dtype);
  node->node.mutable_input()->set_device(device);
  node->sizes.emplace_back("", std::move(dims));
  node->is_placeholder = true;
  return Tensor(std::move(node));
}

// ** results **

Session Tensor::session() const { return Session(node_->core); }

absl::Status Realize(absl::Span<const Tensor> tensors) {
  if (tensors.empty()) return absl::OkStatus();
  const std::shared_ptr<Core>& core = tensors[0].node()->core;
  absl::MutexLock lock(&core->realizing());
  std::vector<NodeRef> nodes;
  for (const Tensor& tensor : tensors) {
    if (tensor.node()->core != core) {
      return absl::InvalidArgumentError("tensors of different sessions are realized at once");
    }
    const bool is_new = std::find(nodes.begin(), nodes.end(), tensor.node()) == nodes.end();
    if (is_new && !tensor.node()->realized().has_value()) nodes.push_back(tensor.node());
  }
  return nodes.empty() ? absl::OkStatus() : RunNodes(nodes);
}

absl::Status Tensor::Realize() const { return kiln::Realize({*this}); }

absl::StatusOr<TensorInfo> Tensor::Info() const {
  if (absl::Status realized = Realize(); !realized.ok()) return realized;
  return node_->Info();
}

absl::StatusOr<Buffer> Tensor::buffer() const {
  if (absl::Status realized = Realize(); !realized.ok()) return realized;
  return node_->realized()->buffer;
}

absl::StatusOr<std::vector<std::byte>> Tensor::ToBytes() const {
  Session session(node_->core);
  const auto hold = session.Hold();
  absl::StatusOr<TensorInfo> info = Info();
  if (!info.ok()) return info.status();
  std::vector<std::byte> bytes(info->bytes());
  const absl::Status copied =
      session.CopyOut(node_->realized()->buffer, 0, absl::MakeSpan(bytes)).Get();
  if (!copied.ok()) return copied;
  return bytes;
}

Tensor Tensor::Named(std::string label) const {
  auto node = std::make_shared<TensorNode>(*node_);
  node->node.set_label(std::move(label));
  return Tensor(std::move(node));
}

// ** operations **

Tensor Call(std::string_view function, std::vector<Tensor> inputs, Attributes attributes,
            uint32_t output) {
  const auto first =
      std::find_if(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.is_set(); });
  return first == inputs.end() ? Tensor()
                               : NewCall(first->node()->core, function, inputs, attributes, output);
}

Tensor Create(const Session& session, std::string_view function, Attributes attributes,
              uint32_t output) {
  return NewCall(session.core(), function, {}, attributes, output);
}

std::vector<Tensor> Gradient(const Tensor& y, const std::vector<Tensor>& xs, const Tensor& seed) {
  std::vector<Tensor> src = {y};
  if (seed.is_set()) src.push_back(seed);
  src.insert(src.end(), xs.begin(), xs.end());
  std::vector<Tensor> gradients;
  for (uint32_t i = 0; i < xs.size(); ++i) {
    v1::Node arg;
    arg.mutable_gradient()->set_which(i);
    arg.mutable_gradient()->set_has_seed(seed.is_set());
    gradients.push_back(NewNode(y.node()->core, v1::OP_GRADIENT, src, std::move(arg)));
  }
  return gradients;
}

Tensor Assign(const Tensor& target, const Tensor& value) {
  return NewNode(target.node()->core, v1::OP_ASSIGN, {target, value});
}

}  // namespace kiln
