#include "client/cpp/internal/tensor_node.h"

#include <utility>

#include "client/cpp/internal/core.h"

namespace kiln::client {

TensorNode::TensorNode(const TensorNode& other)
    : core(other.core),
      error(other.error),
      node(other.node),
      sizes(other.sizes),
      is_placeholder(other.is_placeholder) {
  absl::MutexLock lock(&other.mu_);
  src_ = other.src_;
  realized_ = other.realized_;
}

namespace {

// Expressions may be deep: sources that nobody else has are taken apart one after another.
void TakeApart(std::vector<NodeRef> dying, std::vector<NodeRef> (*sources)(const TensorNode&)) {
  while (!dying.empty()) {
    const NodeRef last = std::move(dying.back());
    dying.pop_back();
    if (last.use_count() > 1) continue;
    for (NodeRef& source : sources(*last)) dying.push_back(std::move(source));
  }
}

}  // namespace

std::vector<NodeRef> TensorNode::TakeSources(const TensorNode& node) {
  absl::MutexLock lock(&node.mu_);
  return std::exchange(node.src_, {});
}

TensorNode::~TensorNode() { TakeApart(TakeSources(*this), TakeSources); }

std::vector<NodeRef> TensorNode::src() const {
  absl::MutexLock lock(&mu_);
  return src_;
}

std::optional<Realized> TensorNode::realized() const {
  absl::MutexLock lock(&mu_);
  return realized_;
}

void TensorNode::SetRealized(Realized r) const {
  {
    absl::MutexLock lock(&mu_);
    realized_ = std::move(r);
  }
  TakeApart(TakeSources(*this), TakeSources);
}

absl::StatusOr<TensorInfo> TensorNode::Info() const {
  const std::optional<Realized> now = realized();
  if (!now.has_value()) return absl::FailedPreconditionError("the tensor is not realized");
  if (now->info.has_value()) return *now->info;
  const absl::StatusOr<v1::GraphResult> result = now->run->Get();
  if (!result.ok()) return result.status();
  if (now->index >= result->outputs_size()) {
    return absl::InternalError("the server has described fewer outputs than were asked for");
  }
  if (!now->key.first.empty()) core->known_results().Add(now->key, *result);
  TensorInfo info = FromProto(result->outputs(now->index));
  absl::MutexLock lock(&mu_);
  realized_->info = info;
  return info;
}

TensorInfo FromProto(const v1::TensorInfo& proto) {
  TensorInfo info = {.dtype = proto.dtype(), .device = proto.device()};
  for (const uint64_t dim : proto.dims()) info.dims.push_back(static_cast<int64_t>(dim));
  return info;
}

NodeRef AssignedLeaf(const TensorNode& node) {
  if (node.node.op() != v1::OP_ASSIGN) return nullptr;
  const std::vector<NodeRef> src = node.src();
  if (src.empty()) return nullptr;
  const NodeRef& target = src[0];
  return target->is_placeholder || target->realized().has_value() ? target : nullptr;
}

}  // namespace kiln::client
