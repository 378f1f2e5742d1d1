// Messages of bulk calls in their bytes: {uint64 offset = 1; bytes data = 2; <message> header = 3;},
// read without copying the data, which stays where gRPC has put it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kiln::server {

// Immutable. Borrows what it was parsed from.
struct Chunk {
  uint64_t offset = 0;
  std::vector<absl::Span<const std::byte>> data;  // In pieces, none of them empty.
  uint64_t data_bytes = 0;
  bool has_header = false;
  std::string header;  // A message in its bytes.
};

// The message that lies in `pieces`, one after the other. Fields may come in any order, unknown ones
// are skipped, of several the last counts, as in every protobuf parser. InvalidArgument if it is
// malformed, and for what no sender has a reason for: two headers, groups.
absl::StatusOr<Chunk> ParseChunk(absl::Span<const absl::Span<const std::byte>> pieces);

// What stands before the data of a message that has no header: to be sent with exactly
// `data_bytes` bytes after it.
std::string ChunkPrefix(uint64_t offset, uint64_t data_bytes);

}  // namespace kiln::server
