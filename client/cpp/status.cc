#include "client/cpp/status.h"

#include "absl/strings/cord.h"

#include "kiln/v1/command.pb.h"

namespace kiln {
namespace {

constexpr char kPayload[] = "kiln.v1.Status";

// A code that this client does not know is an error all the same.
absl::StatusCode CodeOf(int code) {
  const auto known = static_cast<absl::StatusCode>(code);
  return code >= 1 && code <= 16 ? known : absl::StatusCode::kUnknown;
}

}  // namespace

std::optional<FailureDetails> DetailsOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return std::nullopt;
  v1::Status proto;
  if (!proto.ParseFromString(std::string(*payload))) return std::nullopt;
  FailureDetails details = {.node_label = proto.node_label(),
                            .graph_is_unknown = proto.graph_is_unknown(),
                            .request_id = proto.request_id()};
  if (proto.has_node()) details.node = proto.node();
  if (proto.has_cause()) {
    details.cause = {.seq = proto.cause().seq(),
                     .code = CodeOf(proto.cause().code()),
                     .message = proto.cause().message(),
                     .node_label = proto.cause().node_label()};
  }
  return details;
}

namespace client {

absl::Status FromProto(const v1::Status& proto) {
  if (proto.code() == 0) return absl::OkStatus();
  absl::Status status(CodeOf(proto.code()), proto.message());
  if (proto.has_node() || proto.has_cause() || !proto.request_id().empty() ||
      !proto.node_label().empty() || proto.graph_is_unknown()) {
    v1::Status details = proto;
    details.clear_message();
    status.SetPayload(kPayload, absl::Cord(details.SerializeAsString()));
  }
  return status;
}

}  // namespace client
}  // namespace kiln
