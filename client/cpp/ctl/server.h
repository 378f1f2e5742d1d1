// The daemon that kilnctl talks to.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "kiln/v1/admin.grpc.pb.h"
#include "kiln/v1/kiln.grpc.pb.h"

namespace kiln::ctl {

inline constexpr char kVersion[] = "0.1.0";
// The newest protocol (ServerInfo.protocol) that this program knows.
inline constexpr uint32_t kProtocol = 1;

// Where a daemon is if nobody says so: the first of the user's and the system's socket that exists.
std::string DefaultAddress();

// An error of a call, in words that say what to do. Unavailable: nobody there.
absl::Status ExplainFailure(const std::string& address, const absl::Status& status);

class Server {
 public:
  // Connects and asks what it is.
  static absl::StatusOr<Server> Connect(const std::string& address);

  const std::string& address() const { return address_; }
  const v1::ServerInfo& info() const { return info_; }
  v1::Kiln::Stub& kiln() { return *kiln_; }
  v1::Admin::Stub& admin() { return *admin_; }

  // Makes a call, with a deadline. Errors are explained.
  absl::Status Call(const std::function<grpc::Status(grpc::ClientContext&)>& call,
                    absl::Duration timeout = absl::Seconds(30)) const;
  absl::StatusOr<v1::Stats> GetStats();
  absl::StatusOr<v1::ListSessionsResponse> ListSessions();
  // An error of a call that was not made through Call.
  absl::Status Explain(const absl::Status& status) const;

 private:
  Server(std::string address, const std::shared_ptr<grpc::Channel>& channel);

  std::string address_;
  std::unique_ptr<v1::Kiln::Stub> kiln_;
  std::unique_ptr<v1::Admin::Stub> admin_;
  v1::ServerInfo info_;
};

}  // namespace kiln::ctl
