#include "client/cpp/ctl/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cpp/ctl/output.h"
#include "client/cpp/internal/channel.h"

namespace kiln::ctl {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
constexpr char kSystemSocket[] = "/run/kiln/kiln.sock";

bool Exists(const std::string& path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0;
}

// The path of "unix:/path"; empty for other addresses.
std::string SocketOf(std::string address) {
  if (address.rfind("grpc://", 0) == 0) address.erase(0, 7);
  return address.rfind("unix:", 0) == 0 ? address.substr(5) : "";
}

std::string WhyNoSocket(const std::string& path) {
  constexpr char kSay[] = ", or say with --address or KILN_ADDRESS where it is";
  struct stat about;
  if (stat(path.c_str(), &about) != 0) {
    if (errno == EACCES) {
      return absl::StrCat("no permission to reach ", path, ": ask its owner for access", kSay);
    }
    return absl::StrCat("no kilnd at unix:", path, ": start it (kilnd --listen unix:", path, ")",
                        kSay);
  }
  if (!S_ISSOCK(about.st_mode)) return absl::StrCat(path, " is not a socket", kSay);
  if (access(path.c_str(), W_OK) != 0) {
    return absl::StrCat("no permission to use the socket ", path, ": be its user or in its group");
  }
  return absl::StrCat("nobody listens on ", path,
                      ", left over from a kilnd that is gone: start it again (kilnd --listen unix:",
                      path, ")", kSay);
}

std::string WhyNobody(const std::string& address, const std::string& detail) {
  if (detail.find("http1") != std::string::npos) {
    return absl::StrCat("what answers at ", address,
                        " speaks HTTP/1, it is no kilnd: check --address");
  }
  if (detail.find("DNS") != std::string::npos ||
      detail.find("name resolution") != std::string::npos) {
    return absl::StrCat("the name of host in \"", address, "\" is not known: check --address");
  }
  const std::string path = SocketOf(address);
  if (!path.empty()) return WhyNoSocket(path);
  return absl::StrCat("no kilnd at ", address, ": start it (kilnd --listen ", address,
                      "), or say with --address or KILN_ADDRESS where it is");
}

}  // namespace

std::string DefaultAddress() {
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  if (folder == nullptr || *folder != '/') return absl::StrCat("unix:", kSystemSocket);
  const std::string own = absl::StrCat(folder, "/kiln.sock");
  return absl::StrCat("unix:", Exists(own) || !Exists(kSystemSocket) ? own : kSystemSocket);
}

absl::Status ExplainFailure(const std::string& address, const absl::Status& status) {
  const std::string detail(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      // Not of the connection: of a daemon that drains.
      if (detail.find("drain") != std::string::npos) return status;
      return absl::UnavailableError(WhyNobody(address, detail));
    case absl::StatusCode::kDeadlineExceeded:
      return absl::UnavailableError(absl::StrCat(
          address, " takes connections but does not answer: it is no kilnd, or one that hangs"));
    default:
      return status;
  }
}

Server::Server(std::string address, const std::shared_ptr<grpc::Channel>& channel)
    : address_(std::move(address)),
      kiln_(v1::Kiln::NewStub(channel)),
      admin_(v1::Admin::NewStub(channel)) {}

absl::StatusOr<Server> Server::Connect(const std::string& address) {
  absl::StatusOr<std::string> target = client::TargetOf(address);
  if (!target.ok()) return target.status();
  Server server(address, client::MakeChannel(*target));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kConnectTimeout));
  const grpc::Status status = server.kiln_->GetServerInfo(&context, {}, &server.info_);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnavailableError(absl::StrCat(
        "what answers at ", address, " speaks gRPC, but it is no kilnd: check --address"));
  }
  if (!status.ok()) return ExplainFailure(address, client::FromGrpc(status));
  return server;
}

absl::Status Server::Explain(const absl::Status& status) const {
  if (status.code() != absl::StatusCode::kUnimplemented) return ExplainFailure(address_, status);
  return absl::UnimplementedError(absl::StrCat(
      "kilnd ", SafeText(info_.version(), 20), " (protocol ", info_.protocol(),
      ") can't do that for kilnctl ", kVersion, " (protocol ", kProtocol, "): update ",
      info_.protocol() > kProtocol ? "kilnctl" : "kilnd", "; it says: ", status.message()));
}

absl::Status Server::Call(const std::function<grpc::Status(grpc::ClientContext&)>& call,
                          absl::Duration timeout) const {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return Explain(client::FromGrpc(call(context)));
}

absl::StatusOr<v1::Stats> Server::GetStats() {
  v1::Stats stats;
  absl::Status status =
      Call([&](grpc::ClientContext& context) { return admin_->GetStats(&context, {}, &stats); });
  if (!status.ok()) return status;
  return stats;
}

absl::StatusOr<v1::ListSessionsResponse> Server::ListSessions() {
  v1::ListSessionsResponse sessions;
  absl::Status status = Call(
      [&](grpc::ClientContext& context) { return admin_->ListSessions(&context, {}, &sessions); });
  if (!status.ok()) return status;
  return sessions;
}

}  // namespace kiln::ctl
