// Names of commands, for metrics, logs and profiles.
#pragma once

#include <string_view>

#include "kiln/v1/command.pb.h"
#include "server/pb.h"

namespace kiln::server {

// "GraphExec"; "Unknown" for what this server does not know. Lives for ever.
std::string_view KindName(pb::Command::CommandCase kind);

}  // namespace kiln::server
