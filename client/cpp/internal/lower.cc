// Expressions as graphs.
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/internal/tensor_node.h"

namespace kiln::client {
namespace {

class Lowering {
 public:
  absl::StatusOr<LoweredGraph> Run(const std::vector<NodeRef>& outputs,
                                   const std::vector<NodeRef>& placeholders) {
    for (const NodeRef& placeholder : placeholders) {
      if (!placeholder->is_placeholder) {
        return absl::InvalidArgumentError("an input of a captured graph is no Tensor::Input");
      }
      if (index_.count(placeholder.get()) != 0) {
        return absl::InvalidArgumentError("an input of a captured graph is given twice");
      }
      if (absl::Status added = AddLeaf(placeholder); !added.ok()) return added;
    }
    for (const NodeRef& output : outputs) {
      if (absl::Status added = AddAll(output); !added.ok()) return added;
      result_.outputs.push_back(OutputOf(*output));
    }
    return std::move(result_);
  }

 private:
  struct Visit {
    NodeRef node;
    std::vector<NodeRef> src;
    size_t next = 0;
  };

  // Sources first, without recursion: expressions may be deep.
  absl::Status AddAll(const NodeRef& root) {
    std::vector<Visit> stack;
    if (absl::Status entered = Enter(root, stack); !entered.ok()) return entered;
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next < visit.src.size()) {
        const NodeRef src = visit.src[visit.next++];
        if (absl::Status entered = Enter(src, stack); !entered.ok()) return entered;
      } else {
        AddOperation(*visit.node, visit.src);
        stack.pop_back();
      }
    }
    return absl::OkStatus();
  }

  // Adds a leaf, or puts an operation on the stack, unless it is there.
  absl::Status Enter(const NodeRef& node, std::vector<Visit>& stack) {
    if (index_.count(node.get()) != 0) return absl::OkStatus();
    if (!node->error.ok()) return node->error;
    if (node->is_placeholder) {
      return absl::InvalidArgumentError(
          "a Tensor::Input has no value: it must be an input of a captured graph");
    }
    if (node->realized().has_value()) return AddLeaf(node);
    stack.push_back({node, node->src()});
    return absl::OkStatus();
  }

  absl::Status AddLeaf(const NodeRef& leaf) {
    v1::Node node;
    if (leaf->is_placeholder) {
      node = leaf->node;
      FillSizes(*leaf, node);
    } else {
      const absl::StatusOr<TensorInfo> info = leaf->Info();
      if (!info.ok()) return info.status();
      node.set_op(v1::OP_INPUT);
      node.set_dtype(info->dtype);
      node.mutable_input()->set_device(info->device);
      for (const int64_t dim : info->dims) node.mutable_input()->add_dims()->set_value(dim);
    }
    node.mutable_input()->set_slot(static_cast<uint32_t>(result_.leaves.size()));
    result_.leaves.push_back(leaf);
    Append(*leaf, std::move(node));
    return absl::OkStatus();
  }

  void AddOperation(const TensorNode& operation, const std::vector<NodeRef>& sources) {
    v1::Node node = operation.node;
    FillSizes(operation, node);
    for (const NodeRef& src : sources) node.add_src(index_.at(src.get()));
    Append(operation, std::move(node));
  }

  // What is asked for to have `output` computed. What is assigned lies in its target: one element of
  // it is enough to ask for, and costs no copy.
  uint32_t OutputOf(const TensorNode& output) {
    const uint32_t index = index_.at(&output);
    const NodeRef target = AssignedLeaf(output);
    if (target == nullptr) return index;
    const v1::InputArg input =
        result_.graph.nodes(static_cast<int>(index_.at(target.get()))).input();
    const auto element = static_cast<uint32_t>(result_.graph.nodes_size());
    v1::Node& node = *result_.graph.add_nodes();
    node.set_op(v1::OP_SHRINK);
    node.add_src(index);
    node.mutable_dims();
    for (const v1::Dim& dim : input.dims()) {
      node.mutable_dims()->add_dims()->set_value(0);
      const bool is_empty = dim.dim_case() == v1::Dim::kValue && dim.value() == 0;
      node.mutable_dims()->add_dims()->set_value(is_empty ? 0 : 1);
    }
    return element;
  }

  void Append(const TensorNode& of, v1::Node node) {
    index_[&of] = static_cast<uint32_t>(result_.graph.nodes_size());
    *result_.graph.add_nodes() = std::move(node);
  }

  void FillSizes(const TensorNode& from, v1::Node& node) {
    for (const auto& [name, dims] : from.sizes) {
      google::protobuf::RepeatedPtrField<v1::Dim>& to =
          !name.empty()
              ? *(*node.mutable_call()->mutable_attributes())[name].mutable_sizes()->mutable_dims()
          : node.op() == v1::OP_INPUT ? *node.mutable_input()->mutable_dims()
                                      : *node.mutable_dims()->mutable_dims();
      for (const Dim& dim : dims) {
        if (dim.variable.has_value()) {
          to.Add()->set_node(VariableNode(*dim.variable));
        } else {
          to.Add()->set_value(dim.value);
        }
      }
    }
  }

  uint32_t VariableNode(const Variable& variable) {
    const auto found = variables_.find(variable.name);
    if (found != variables_.end()) return found->second;
    const auto index = static_cast<uint32_t>(result_.graph.nodes_size());
    v1::Node& node = *result_.graph.add_nodes();
    node.set_op(v1::OP_VARIABLE);
    node.set_dtype(v1::DTYPE_INDEX);
    node.mutable_variable()->set_name(variable.name);
    node.mutable_variable()->set_min(variable.min);
    node.mutable_variable()->set_max(variable.max);
    variables_[variable.name] = index;
    return index;
  }

  LoweredGraph result_;
  std::unordered_map<const TensorNode*, uint32_t> index_;
  std::map<std::string, uint32_t> variables_;
};

}  // namespace

absl::StatusOr<LoweredGraph> Lower(const std::vector<NodeRef>& outputs,
                                   const std::vector<NodeRef>& placeholders) {
  return Lowering().Run(outputs, placeholders);
}

}  // namespace kiln::client
