#include "server/rpc/chunk.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln::server {
namespace {

using Piece = absl::Span<const std::byte>;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kStartGroup = 3, kFixed32 = 5 };

// Thread-compatible. A position in pieces.
class Cursor {
 public:
  explicit Cursor(absl::Span<const Piece> pieces) : pieces_(pieces) { SkipEmpty(); }

  bool at_end() const { return pieces_.empty(); }

  // Of at most `max_bytes` bytes; bits beyond 64 are dropped.
  std::optional<uint64_t> Varint(int max_bytes) {
    uint64_t v = 0;
    for (int i = 0; i < max_bytes; ++i) {
      if (at_end()) return std::nullopt;
      const auto byte = static_cast<uint8_t>(pieces_.front()[at_]);
      Advance(1);
      v |= uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) return v;
    }
    return std::nullopt;
  }
  // A length: less than 2^31.
  std::optional<uint64_t> Length() {
    const std::optional<uint64_t> v = Varint(5);
    if (!v.has_value() || *v > INT32_MAX) return std::nullopt;
    return v;
  }
  // Calls `see` with the next `bytes` bytes in pieces. False if there are fewer.
  template <typename See>
  bool Take(uint64_t bytes, const See& see) {
    while (bytes > 0) {
      if (at_end()) return false;
      const Piece rest = pieces_.front().subspan(at_);
      const Piece part = rest.first(static_cast<size_t>(std::min<uint64_t>(bytes, rest.size())));
      see(part);
      bytes -= part.size();
      Advance(part.size());
    }
    return true;
  }

 private:
  void Advance(size_t bytes) {
    at_ += bytes;
    if (at_ < pieces_.front().size()) return;
    at_ = 0;
    pieces_.remove_prefix(1);
    SkipEmpty();
  }
  void SkipEmpty() {
    while (!pieces_.empty() && pieces_.front().empty()) pieces_.remove_prefix(1);
  }

  absl::Span<const Piece> pieces_;
  size_t at_ = 0;  // In the first of them.
};

enum class Outcome { kDone, kMalformed, kUnusual };

// One field, whose tag has been read.
Outcome ReadField(uint32_t tag, Cursor& cursor, Chunk& chunk) {
  const uint32_t field = tag >> 3, type = tag & 7;
  if (field == 0) return Outcome::kMalformed;
  switch (type) {
    case kVarint: {
      const std::optional<uint64_t> v = cursor.Varint(10);
      if (!v.has_value()) return Outcome::kMalformed;
      if (field == 1) chunk.offset = *v;
      return Outcome::kDone;
    }
    case kBytes: {
      const std::optional<uint64_t> length = cursor.Length();
      if (!length.has_value()) return Outcome::kMalformed;
      if (field == 2) {
        chunk.data.clear();
        chunk.data_bytes = *length;
      }
      if (field == 3 && std::exchange(chunk.has_header, true)) return Outcome::kUnusual;
      const auto see = [&](Piece part) {
        if (field == 2) chunk.data.push_back(part);
        if (field != 3) return;
        chunk.header.append(reinterpret_cast<const char*>(part.data()), part.size());
      };
      return cursor.Take(*length, see) ? Outcome::kDone : Outcome::kMalformed;
    }
    case kFixed64:
    case kFixed32:
      return cursor.Take(type == kFixed64 ? 8 : 4, [](Piece) {}) ? Outcome::kDone
                                                                 : Outcome::kMalformed;
    case kStartGroup:
      return Outcome::kUnusual;
    default:
      return Outcome::kMalformed;
  }
}

}  // namespace

absl::StatusOr<Chunk> ParseChunk(absl::Span<const Piece> pieces) {
  Chunk chunk;
  Cursor cursor(pieces);
  while (!cursor.at_end()) {
    const std::optional<uint64_t> tag = cursor.Varint(5);
    const Outcome outcome = tag.has_value() ? ReadField(static_cast<uint32_t>(*tag), cursor, chunk)
                                            : Outcome::kMalformed;
    if (outcome == Outcome::kUnusual) {
      return absl::InvalidArgumentError("the message has two headers, or a group");
    }
    if (outcome == Outcome::kMalformed) {
      return absl::InvalidArgumentError("the message is no valid protobuf");
    }
  }
  return chunk;
}

std::string ChunkPrefix(uint64_t offset, uint64_t data_bytes) {
  std::string prefix;
  const auto put = [&prefix](uint64_t v) {
    for (; v >= 0x80; v >>= 7) prefix.push_back(static_cast<char>(v | 0x80));
    prefix.push_back(static_cast<char>(v));
  };
  if (offset != 0) {
    put(1 << 3 | kVarint);
    put(offset);
  }
  put(2 << 3 | kBytes);
  put(data_bytes);
  return prefix;
}

}  // namespace kiln::server
