// FindBlobs: which content is there. Also what the calls about blobs share.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "kiln/v1/kiln.pb.h"
#include "server/blobs/blob_store.h"
#include "server/pb.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// Until there is authentication, all sessions are of one principal.
inline constexpr absl::string_view kOnlyPrincipal = "";

// FailedPrecondition: what every call about blobs answers if there is no store.
absl::Status NoBlobs();

// Errors as of SessionManager::Find; InvalidArgument: too many hashes, or one that is none. The store
// may be null.
absl::Status FindBlobs(const pb::FindBlobsRequest& request, SessionManager& sessions,
                       const BlobStore* store, pb::FindBlobsResponse& response);

}  // namespace kiln::server
