#include "server/status.h"

#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

#include "server/graph/import.h"

namespace kiln::server {
namespace {

constexpr char kCausePayload[] = "kiln.cause";  // A pb::Status::Cause.
constexpr char kLabelPayload[] = "kiln.label";  // Of the node.
constexpr char kUnknownGraphPayload[] = "kiln.unknown_graph";

std::optional<pb::Status::Cause> CauseOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kCausePayload);
  pb::Status::Cause cause;
  if (!payload.has_value() || !cause.ParseFromString(std::string(*payload))) return std::nullopt;
  return cause;
}

std::string TextOf(const absl::Status& status, absl::string_view payload) {
  const absl::optional<absl::Cord> text = status.GetPayload(payload);
  return text.has_value() ? std::string(*text) : std::string();
}

}  // namespace

absl::Status Poisoned(const std::string& what, const Failure& cause) {
  absl::Status status = absl::FailedPreconditionError(absl::StrCat(
      what, " holds nothing, since command ", cause.seq, " failed: ", cause.status.message()));
  pb::Status::Cause message;
  message.set_seq(cause.seq);
  message.set_code(static_cast<int>(cause.status.code()));
  message.set_message(std::string(cause.status.message()));
  message.set_node_label(TextOf(cause.status, kLabelPayload));
  status.SetPayload(kCausePayload, absl::Cord(absl::string_view(message.SerializeAsString())));
  return status;
}

Failure RootOf(uint64_t seq, const absl::Status& status) {
  const std::optional<pb::Status::Cause> cause = CauseOf(status);
  if (!cause.has_value()) return {seq, status};
  absl::Status root(static_cast<absl::StatusCode>(cause->code()), cause->message());
  if (!cause->node_label().empty()) {
    root.SetPayload(kLabelPayload, absl::Cord(cause->node_label()));
  }
  return {cause->seq(), std::move(root)};
}

absl::Status UnknownGraph() {
  absl::Status status = absl::NotFoundError("no graph with this hash is known: send it inline");
  status.SetPayload(kUnknownGraphPayload, absl::Cord("1"));
  return status;
}

std::string RequestId(uint64_t session, uint64_t seq) { return absl::StrCat(session, "-", seq); }

absl::Status WithNodeLabel(absl::Status status, const pb::Graph& graph) {
  uint32_t node;
  if (absl::SimpleAtoi(TextOf(status, kNodePayload), &node) &&
      node < static_cast<uint32_t>(graph.nodes_size())) {
    const std::string& label = graph.nodes(static_cast<int>(node)).label();
    if (!label.empty()) status.SetPayload(kLabelPayload, absl::Cord(label));
  }
  return status;
}

pb::Status ToProto(const absl::Status& status) {
  pb::Status message;
  message.set_code(static_cast<int>(status.code()));
  message.set_message(std::string(status.message()));
  uint32_t node;
  if (absl::SimpleAtoi(TextOf(status, kNodePayload), &node)) message.set_node(node);
  message.set_node_label(TextOf(status, kLabelPayload));
  message.set_graph_is_unknown(status.GetPayload(kUnknownGraphPayload).has_value());
  if (auto cause = CauseOf(status)) *message.mutable_cause() = *std::move(cause);
  return message;
}

}  // namespace kiln::server
