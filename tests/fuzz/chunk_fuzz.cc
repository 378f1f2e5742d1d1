// Any bytes, cut anywhere, as a message of a bulk call: what is read by hand is what protobuf reads.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype/check.h"
#include "kiln/v1/kiln.pb.h"
#include "server/rpc/chunk.h"

namespace {

namespace pb = kiln::v1;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte says where to cut.
  const size_t cut = 1 + data[0] % size;
  const auto all = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data), size);
  const absl::Span<const std::byte> pieces[] = {all.subspan(1, cut - 1), {}, all.subspan(cut)};
  const auto chunk = kiln::server::ParseChunk(pieces);
  pb::PutDataRequest message;
  const bool is_valid = message.ParseFromArray(data + 1, static_cast<int>(size - 1));
  pb::PutDataHeader header;
  if (!chunk.ok() || (chunk->has_header && !header.ParseFromString(chunk->header))) {
    // Groups and second headers are refused, though they are valid.
    KILN_CHECK(!is_valid || (!chunk.ok() && std::string(chunk.status().message()).find("group") !=
                                                std::string::npos));
    return 0;
  }
  KILN_CHECK(is_valid);
  std::string bytes;
  for (const auto& piece : chunk->data) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  KILN_CHECK(bytes == message.data() && bytes.size() == chunk->data_bytes);
  KILN_CHECK(chunk->offset == message.offset());
  KILN_CHECK(chunk->has_header == message.has_header());
  KILN_CHECK(header.SerializeAsString() == message.header().SerializeAsString());
  return 0;
}
