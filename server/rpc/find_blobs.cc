#include "server/rpc/find_blobs.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::server {
namespace {

constexpr int kMaxHashes = 4096;

}  // namespace

absl::Status NoBlobs() {
  return absl::FailedPreconditionError(
      "this server keeps no blobs, since it has no folder for them: send the bytes with PutData");
}

absl::Status FindBlobs(const pb::FindBlobsRequest& request, SessionManager& sessions,
                       const BlobStore* store, pb::FindBlobsResponse& response) {
  KILN_RETURN_IF_ERROR(sessions.Find(request.session()).status());
  if (store == nullptr) return NoBlobs();
  if (request.sha256_size() > kMaxHashes) {
    return absl::InvalidArgumentError(
        absl::StrCat("sha256: ", request.sha256_size(), " given, the limit is ", kMaxHashes));
  }
  for (const std::string& sha256 : request.sha256()) {
    KILN_ASSIGN_OR_RETURN(const BlobStore::State found, store->Find(kOnlyPrincipal, sha256));
    pb::FindBlobsResponse::BlobState& state = *response.add_blobs();
    state.set_is_complete(found.is_complete);
    state.set_received(found.received);
  }
  return absl::OkStatus();
}

}  // namespace kiln::server
