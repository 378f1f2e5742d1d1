// Variable-length integers of the protobuf encoding, for the few messages that are written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kiln::client {

inline constexpr size_t kMaxVarintBytes = 10;

// Writes `value` to `to`, which has room for kMaxVarintBytes; returns how many bytes it took.
inline size_t PutVarint(uint64_t value, char* to) {
  size_t n = 0;
  for (; value >= 128; value >>= 7) to[n++] = static_cast<char>(value | 128);
  to[n++] = static_cast<char>(value);
  return n;
}

// Reads one at `p`, which is moved behind it. None: it does not end before `end`, or is too long.
inline std::optional<uint64_t> GetVarint(const uint8_t*& p, const uint8_t* end) {
  uint64_t value = 0;
  for (int shift = 0; p < end && shift < 64; shift += 7) {
    const uint8_t byte = *p++;
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

}  // namespace kiln::client
