// Connections to a kilnd.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln::client {

// The name of an address for gRPC. "unix:/path", "host:port", "[::1]:port", "grpc://host:port";
// else InvalidArgument.
absl::StatusOr<std::string> TargetOf(std::string_view address);

// A connection of its own, which comes back by itself when it breaks. Connects when first used.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target);

absl::Status FromGrpc(const grpc::Status& status);

// Whether a call that ended so may be tried again: the connection has failed, not the request.
bool IsConnectionFailure(const grpc::Status& status);

}  // namespace kiln::client
