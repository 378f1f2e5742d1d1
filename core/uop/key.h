// Structural key of a graph: see KeyOf in core/uop/facts.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace kiln::uop {

struct Key {
  uint64_t hi = 0, lo = 0;
  friend constexpr bool operator==(Key, Key) = default;
  friend constexpr auto operator<=>(Key, Key) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.hi, k.lo);
  }
};

// 32 hexadecimal digits.
std::string ToString(Key key);

}  // namespace kiln::uop
