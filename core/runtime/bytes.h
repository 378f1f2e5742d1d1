// Numbers and strings as bytes. For the .cc files of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::runtime::internal {

// Seven bits at a time, lowest first.
inline void AppendVarint(std::string& to, uint64_t v) {
  for (; v >= 0x80; v >>= 7) to.push_back(static_cast<char>(v | 0x80));
  to.push_back(static_cast<char>(v));
}
inline void AppendText(std::string& to, std::string_view text) {
  AppendVarint(to, text.size());
  to.append(text);
}

// Thread-compatible. Reads what was appended, from the front. Once something does not fit, all that
// follows is zero or empty and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint64_t Varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return Fail();
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      v |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return v;
    }
    return Fail();
  }
  std::string_view Text() { return Bytes(Varint()); }
  std::string_view Bytes(uint64_t size) {
    if (size > rest_.size()) {
      Fail();
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  size_t remaining() const { return rest_.size(); }

 private:
  uint64_t Fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace kiln::runtime::internal
