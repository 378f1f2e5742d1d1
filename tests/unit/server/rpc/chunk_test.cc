#include "server/rpc/chunk.h"

#include <random>
#include <string>
#include <vector>

#include "kiln/v1/kiln.pb.h"
#include "server/pb.h"
#include "tests/support/status_matchers.h"

namespace kiln::server {
namespace {

using kiln::support::IsOk;
using kiln::support::StatusIs;

// The bytes of a message in pieces that begin at these offsets.
absl::StatusOr<Chunk> Parse(const std::string& bytes, std::vector<size_t> cuts = {}) {
  cuts.push_back(bytes.size());
  std::vector<absl::Span<const std::byte>> pieces;
  const auto all =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  size_t from = 0;
  for (const size_t cut : cuts) {
    pieces.push_back(all.subspan(from, cut - from));
    from = cut;
  }
  return ParseChunk(pieces);
}

std::string DataOf(const Chunk& chunk) {
  std::string data;
  for (const auto& p : chunk.data) {
    EXPECT_FALSE(p.empty());
    data.append(reinterpret_cast<const char*>(p.data()), p.size());
  }
  EXPECT_EQ(data.size(), chunk.data_bytes);
  return data;
}

TEST(Chunk, IsFoundWhereverTheMessageIsCut) {
  pb::PutDataRequest message;
  message.set_offset(300);
  message.set_data("some bytes");
  message.mutable_header()->set_transfer(7);
  const std::string bytes = message.SerializeAsString();
  for (size_t a = 0; a <= bytes.size(); ++a) {
    for (size_t b = a; b <= bytes.size(); ++b) {
      const auto chunk = Parse(bytes, {a, b});
      ASSERT_THAT(chunk, IsOk());
      EXPECT_EQ(chunk->offset, 300);
      EXPECT_EQ(DataOf(*chunk), "some bytes");
      EXPECT_TRUE(chunk->has_header);
      pb::PutDataHeader header;
      ASSERT_TRUE(header.ParseFromString(chunk->header));
      EXPECT_EQ(header.transfer(), 7);
    }
  }
}

TEST(Chunk, EmptyIsAllDefaults) {
  const auto chunk = Parse("");
  ASSERT_THAT(chunk, IsOk());
  EXPECT_EQ(chunk->offset, 0);
  EXPECT_EQ(chunk->data_bytes, 0);
  EXPECT_FALSE(chunk->has_header);
}

TEST(Chunk, AnyOrderUnknownFieldsAndTheLastOfSeveral) {
  const std::string bytes(
      "\x12\x03old"     // data
      "\xfa\x01\x02zz"  // field 31, bytes
      "\x12\x02"
      "ab"  // data again
      "\x25"
      "1234"  // field 4, fixed32
      "\x29"
      "12345678"           // field 5, fixed64
      "\x30\x05"           // field 6, varint
      "\x08\x01\x08\x05",  // offset, twice
      34);
  const auto chunk = Parse(bytes);
  ASSERT_THAT(chunk, IsOk());
  EXPECT_EQ(chunk->offset, 5);
  EXPECT_EQ(DataOf(*chunk), "ab");
}

TEST(Chunk, MalformedIsRefused) {
  const std::string bad[] = {
      "\x12",  // No length.
      std::string("\x12\x05"
                  "ab",
                  4),                                      // Fewer bytes than said.
      "\x08",                                              // No number.
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // Eleven bytes of one.
      std::string("\x00\x01", 2),                          // Field 0.
      "\x0e",                                              // Wire type 6.
      "\x0c",                                              // End of no group.
      "\x25"
      "12",                                        // Half a fixed32.
      std::string("\x12\xff\xff\xff\xff\x0f", 6),  // A length of 2^32.
      std::string("\x12\xff\xff\xff\xff\x07", 6),  // 2^31 - 1, which is not there.
      "\x23\x24",                                  // A group.
  };
  for (const std::string& bytes : bad) {
    EXPECT_THAT(Parse(bytes), StatusIs(absl::StatusCode::kInvalidArgument)) << bytes.size();
  }
}

TEST(Chunk, PrefixIsWhatProtobufWrites) {
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, uint64_t{128}, uint64_t{1} << 40, UINT64_MAX}) {
    for (const size_t size : {size_t{1}, size_t{127}, size_t{128}, size_t{100'000}}) {
      pb::Chunk message;
      message.set_offset(offset);
      message.set_data(std::string(size, 'x'));
      EXPECT_EQ(ChunkPrefix(offset, size) + message.data(), message.SerializeAsString());
    }
  }
}

// Against protobuf, on valid messages with bytes changed.
TEST(Chunk, AgreesWithProtobuf) {
  std::mt19937 random(1);
  int num_ok = 0;
  for (int i = 0; i < 100'000; ++i) {
    pb::PutDataRequest message;
    if (random() % 2 == 0) message.set_offset(random() >> (random() % 32));
    message.set_data(std::string(random() % 6, 'd'));
    if (random() % 2 == 0) message.mutable_header()->set_transfer(random() % 300);
    std::string bytes = message.SerializeAsString();
    for (auto changes = random() % 3; changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    std::vector<size_t> cuts;
    if (!bytes.empty()) cuts.push_back(random() % bytes.size());
    const auto chunk = Parse(bytes, cuts);
    pb::PutDataRequest parsed;
    const bool is_valid = parsed.ParseFromString(bytes);
    pb::PutDataHeader header;
    if (!chunk.ok() || (chunk->has_header && !header.ParseFromString(chunk->header))) {
      // Only groups are refused though they are valid.
      if (is_valid) {
        EXPECT_THAT(chunk.status(),
                    StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("group")));
      }
      continue;
    }
    ++num_ok;
    ASSERT_TRUE(is_valid);
    EXPECT_EQ(chunk->offset, parsed.offset());
    EXPECT_EQ(DataOf(*chunk), parsed.data());
    EXPECT_EQ(chunk->has_header, parsed.has_header());
    EXPECT_EQ(header.SerializeAsString(), parsed.header().SerializeAsString());
  }
  EXPECT_GT(num_ok, 30'000);
}

}  // namespace
}  // namespace kiln::server
