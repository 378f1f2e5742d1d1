// The function library, described for clients.
#pragma once

#include <string>

#include "kiln/v1/kiln.pb.h"
#include "server/pb.h"

namespace kiln::server {

// All functions, by name, with FunctionsDigest. Made once; lives for ever. Thread-safe.
const pb::ListFunctionsResponse& DescribeFunctions();
// 16 bytes that change with anything in the description that a client might notice.
std::string FunctionsDigest();

}  // namespace kiln::server
