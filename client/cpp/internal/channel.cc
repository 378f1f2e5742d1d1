#include "client/cpp/internal/channel.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "kiln/v1/kiln.grpc.pb.h"

namespace kiln::client {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// A proxy of the environment can't reach what is on this machine.
bool IsLocal(std::string_view target) {
  return StartsWith(target, "unix:") || StartsWith(target, "127.") ||
         StartsWith(target, "localhost:") || StartsWith(target, "[::1]");
}

// The threads that run callbacks belong to all channels together, and are joined when the last of them
// goes: by itself, if a callback has dropped it. So there is one that never goes. It connects to
// nothing; its one call is over before it begins.
void KeepCallbackThreads() {
  static const auto* anchor = [] {
    struct Call {
      grpc::ClientContext context;
      v1::SessionRef request;
      v1::KeepAliveResponse response;
    };
    auto* channel = new std::shared_ptr<grpc::Channel>(
        grpc::CreateChannel("unix-abstract:kiln-none", grpc::InsecureChannelCredentials()));
    auto* call = new Call;
    call->context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
    v1::Kiln::NewStub(*channel)->async()->KeepAlive(&call->context, &call->request, &call->response,
                                                    [call](const grpc::Status&) { delete call; });
    return channel;
  }();
  (void)anchor;
}

}  // namespace

absl::StatusOr<std::string> TargetOf(std::string_view address) {
  std::string_view target = address;
  if (StartsWith(target, "grpc://")) target.remove_prefix(7);
  if (StartsWith(target, "unix:")) {
    if (target.size() > 5) return std::string(target);
  } else if (target.find("://") == std::string_view::npos) {
    const size_t colon = target.rfind(':');
    if (colon != std::string_view::npos && colon > 0 && colon + 1 < target.size()) {
      return std::string(target);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("address \"", std::string(address),
                   "\": should be like \"unix:/path\", \"host:port\" or \"grpc://host:port\""));
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // Each session has a connection of its own: what stalls one does not stall another.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Commands are resumed by number; gRPC keeping them for a retry of its own is work for nothing.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // To connect within.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  if (IsLocal(target)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

bool IsConnectionFailure(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:  // What a reset stream looks like.
    case grpc::StatusCode::INTERNAL:   // The same.
    case grpc::StatusCode::UNKNOWN:    // The same.
    case grpc::StatusCode::ABORTED:    // A stream that we have given up was seen after this one.
      return true;
    default:
      return false;
  }
}

}  // namespace kiln::client
