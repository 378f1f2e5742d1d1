// What contents are identified by: nobody can make two that share one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::runtime {

// A value. SHA-256.
struct Digest {
  std::array<uint8_t, 32> bytes = {};

  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), 32}; }
  std::string ToHex() const;
  friend bool operator==(const Digest&, const Digest&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Digest& d) {
    return H::combine(std::move(h), d.bytes);
  }
};

Digest DigestOf(std::string_view contents);

}  // namespace kiln::runtime
