// Statuses of commands: as absl::Status with what a client may want to know besides, and as messages.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "kiln/v1/command.pb.h"
#include "server/pb.h"

namespace kiln::server {

// What has failed first, of all that made a command fail.
struct Failure {
  uint64_t seq = 0;
  absl::Status status;
};

// FailedPrecondition: `what` ("buffer 7") holds nothing, because of `cause`. A cause that is itself
// such a status is unwrapped: the first failure is named.
absl::Status Poisoned(const std::string& what, const Failure& cause);

// The failure that `status` of command `seq` is to be known by: its cause, if it has one.
Failure RootOf(uint64_t seq, const absl::Status& status);

// NotFound: the graph that a hash stands for is not there (Status.graph_is_unknown).
absl::Status UnknownGraph();

// What a client is told about an internal error, and the log says beside the details.
std::string RequestId(uint64_t session, uint64_t seq);

// The status with the label of a node: of the graph `graph`, if the status names a node
// (kNodePayload).
absl::Status WithNodeLabel(absl::Status status, const pb::Graph& graph);

pb::Status ToProto(const absl::Status& status);

}  // namespace kiln::server
