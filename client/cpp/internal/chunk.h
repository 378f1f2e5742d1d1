// The message Chunk {uint64 offset = 1; bytes data = 2;}, which is also the beginning of
// PutDataRequest and PutBlobRequest, encoded and decoded in place.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace kiln::client {

// What stands in front of `size` bytes of data.
grpc::Slice ChunkHead(uint64_t offset, size_t size);

struct ChunkView {
  uint64_t offset = 0;
  size_t size = 0;
  std::vector<grpc::Slice> slices;  // The message.
  size_t begin = 0;                 // Of the data, in the bytes of the slices.

  // Copies the data to `to`, of `size` bytes.
  void CopyTo(std::byte* to) const;
};
// None: `message` is no Chunk.
std::optional<ChunkView> ParseChunk(const grpc::ByteBuffer& message);

}  // namespace kiln::client
