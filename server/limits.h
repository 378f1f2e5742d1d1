// What sessions may use. Published by GetServerInfo.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace kiln::server {

// What a session may always have queued.
inline constexpr int64_t kSmallQueueBytes = int64_t{1} << 20;

struct SessionLimits {
  int64_t max_message_bytes = int64_t{16} << 20;
  int64_t max_inline_bytes = int64_t{1} << 20;
  int64_t max_graph_nodes = int64_t{1} << 17;
  int64_t max_name_bytes = 256;
  int64_t max_buffers = 1 << 16;
  int64_t max_graphs = 1 << 12;
  int64_t max_events = 1 << 12;
  int64_t max_transfers = 64;
  int64_t max_bytes = int64_t{1} << 40;  // Device memory of one session.
  int64_t max_queued_commands = 1 << 13;
  int64_t max_queued_bytes = int64_t{64} << 20;  // Messages of queued commands.
  // Messages of queued commands and results that wait, of all sessions. Over it, those with more
  // than kSmallQueueBytes of their own are held up.
  int64_t max_total_queued_bytes = int64_t{1} << 30;
  absl::Duration max_queued_device_time = absl::Seconds(10);
  int64_t max_unacked_bytes = int64_t{64} << 20;  // Results that the client has not acknowledged.
  int64_t max_blob_bytes = int64_t{64} << 30;
  int64_t max_principal_blob_bytes = int64_t{64} << 30;
  int64_t chunk_bytes = int64_t{1} << 20;
  int64_t max_sessions = 1 << 12;
  absl::Duration lease = absl::Seconds(30);
  absl::Duration max_lease = absl::Minutes(10);
  absl::Duration min_lease = absl::Seconds(1);
  absl::Duration transfer_timeout = absl::Seconds(30);
};

}  // namespace kiln::server
