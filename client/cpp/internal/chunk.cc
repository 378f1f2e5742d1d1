#include "client/cpp/internal/chunk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/cpp/internal/varint.h"

namespace kiln::client {
namespace {

constexpr char kOffsetTag = 1 << 3;
constexpr char kDataTag = 2 << 3 | 2;

}  // namespace

grpc::Slice ChunkHead(uint64_t offset, size_t size) {
  char head[2 + 2 * kMaxVarintBytes];
  size_t n = 0;
  if (offset != 0) {
    head[n++] = kOffsetTag;
    n += PutVarint(offset, head + n);
  }
  head[n++] = kDataTag;
  n += PutVarint(size, head + n);
  return grpc::Slice(head, n);
}

void ChunkView::CopyTo(std::byte* to) const {
  size_t skip = begin;
  for (const grpc::Slice& slice : slices) {
    const size_t skipped = std::min(skip, slice.size());
    skip -= skipped;
    std::memcpy(to, slice.begin() + skipped, slice.size() - skipped);
    to += slice.size() - skipped;
  }
}

std::optional<ChunkView> ParseChunk(const grpc::ByteBuffer& message) {
  ChunkView chunk;
  if (!message.Dump(&chunk.slices).ok()) return std::nullopt;
  uint8_t head[2 + 2 * kMaxVarintBytes];
  uint8_t* end = head;
  size_t total = 0;
  for (const grpc::Slice& slice : chunk.slices) {
    const size_t n = std::min<size_t>(slice.size(), head + sizeof(head) - end);
    end = std::copy_n(slice.begin(), n, end);
    total += slice.size();
  }
  const uint8_t* p = head;
  if (p < end && *p == kOffsetTag) {
    const std::optional<uint64_t> offset = GetVarint(++p, end);
    if (!offset.has_value()) return std::nullopt;
    chunk.offset = *offset;
  }
  if (p == end || *p++ != kDataTag) return std::nullopt;
  const std::optional<uint64_t> size = GetVarint(p, end);
  chunk.begin = static_cast<size_t>(p - head);
  if (!size.has_value() || *size != total - chunk.begin) return std::nullopt;
  chunk.size = *size;
  return chunk;
}

}  // namespace kiln::client
