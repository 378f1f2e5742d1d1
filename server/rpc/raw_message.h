// Messages of bulk calls as gRPC has them. Copying one copies references.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "server/rpc/chunk.h"

namespace kiln::server {

// Immutable; movable. A message that has been read, in one or more pieces, which it owns.
class RawMessage {
 public:
  explicit RawMessage(const grpc::ByteBuffer& buffer) {
    is_ok_ = buffer.Dump(&slices_).ok();
    pieces_.reserve(slices_.size());
    for (const grpc::Slice& s : slices_) {
      pieces_.emplace_back(reinterpret_cast<const std::byte*>(s.begin()), s.size());
    }
  }

  // A copy would have its small pieces elsewhere.
  RawMessage(const RawMessage&) = delete;
  RawMessage& operator=(const RawMessage&) = delete;
  RawMessage(RawMessage&&) = default;
  RawMessage& operator=(RawMessage&&) = default;

  // Borrows from the message.
  absl::StatusOr<Chunk> Parse() const {
    if (!is_ok_) return absl::InvalidArgumentError("the message can't be read");
    return ParseChunk(pieces_);
  }
  // All bytes in one piece: for small messages.
  std::string Flatten() const {
    std::string bytes;
    for (const auto& p : pieces_) bytes.append(reinterpret_cast<const char*>(p.data()), p.size());
    return bytes;
  }

 private:
  bool is_ok_ = false;
  std::vector<grpc::Slice> slices_;
  std::vector<absl::Span<const std::byte>> pieces_;
};

// A message that is small.
template <typename Message>
grpc::ByteBuffer ToRaw(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

// A chunk whose data is not copied: `keep` is held until gRPC has sent it, or given it up.
inline grpc::ByteBuffer RawChunk(uint64_t offset, absl::Span<const std::byte> data,
                                 std::shared_ptr<const void> keep) {
  using Keep = std::shared_ptr<const void>;
  const grpc::Slice slices[] = {
      grpc::Slice(ChunkPrefix(offset, data.size())),
      grpc::Slice(
          const_cast<std::byte*>(data.data()), data.size(),
          [](void* kept) { delete static_cast<Keep*>(kept); }, new Keep(std::move(keep)))};
  return {slices, data.empty() ? 1u : 2u};
}

}  // namespace kiln::server
