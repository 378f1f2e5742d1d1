// What the daemon tells about itself.
#pragma once

#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

#include "core/runtime/registry.h"
#include "kiln/v1/kiln.pb.h"
#include "server/limits.h"
#include "server/pb.h"

namespace kiln::server {

inline constexpr char kVersion[] = "0.1.0";
// Raised when something is added to the protocol.
inline constexpr uint32_t kProtocol = 1;

// Thread-safe.
class ServerDescription {
 public:
  // `devices`: those that clients may use, the default one first. Borrowed.
  ServerDescription(std::vector<runtime::Device*> devices, const SessionLimits& limits,
                    std::string shared_memory_socket);
  pb::ServerInfo Info() const;
  // Made once, when it is first asked for.
  const pb::ListFunctionsResponse& Functions() const;
  const std::vector<runtime::Device*>& devices() const { return devices_; }

 private:
  const std::vector<runtime::Device*> devices_;
  pb::ServerInfo info_;  // But for what changes.
};

}  // namespace kiln::server
