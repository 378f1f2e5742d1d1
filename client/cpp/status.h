// What a failed call says besides code and message.
//
//   absl::StatusOr<std::vector<float>> y = tensor.ToHost<float>();
//   if (std::optional<kiln::FailureDetails> why = kiln::DetailsOf(y.status())) {
//     ... why->node_label, why->cause->seq ...
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace kiln::v1 {
class Status;
}

namespace kiln {

struct FailureDetails {
  std::optional<uint32_t> node;   // Of the command's graph.
  std::string node_label;         // Its label. Empty: none.
  bool graph_is_unknown = false;  // NOT_FOUND, of the hash of a graph: it has to be sent inline.
  std::string request_id;         // Of an INTERNAL error: where to look in the server's log.

  // Of a command that has read what an earlier one failed to make: that first failure.
  struct Cause {
    uint64_t seq = 0;  // The number of the command (Future::seq()).
    absl::StatusCode code = absl::StatusCode::kUnknown;
    std::string message;
    std::string node_label;
  };
  std::optional<Cause> cause;
};

// None if the server has sent none.
std::optional<FailureDetails> DetailsOf(const absl::Status& status);

namespace client {
// The status as it came over the wire, with its details.
absl::Status FromProto(const v1::Status& status);
}  // namespace client

}  // namespace kiln
