// Hash functions whose values never change: keys outlive the process.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace kiln::uop {

// A bijection of 64 bits that changes half of them for any change of one.
// Source: Stafford's variant 13 of the MurmurHash3 finaliser, as in SplitMix64 (Steele, Lea, Flood,
// OOPSLA 2014).
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr uint64_t HashPayload(std::string_view text, absl::Span<const int64_t> ints) {
  uint64_t h = Mix(text.size());
  for (char c : text) h = Mix(h ^ static_cast<uint8_t>(c));
  h = Mix(h ^ ints.size());
  for (int64_t v : ints) h = Mix(h ^ static_cast<uint64_t>(v));
  return h;
}

// 128 bits of a sequence of pairs of words. Both halves depend on all of the input.
// Source: MurmurHash3_x64_128 (Appleby, public domain), fed 16 bytes at a time.
class Hasher128 {
 public:
  struct Value {
    uint64_t hi, lo;
  };

  constexpr void Add(uint64_t a, uint64_t b) {
    hi_ = (std::rotl(hi_ ^ std::rotl(a * kA, 31) * kB, 27) + lo_) * 5 + 0x52dce729;
    lo_ = (std::rotl(lo_ ^ std::rotl(b * kB, 33) * kA, 31) + hi_) * 5 + 0x38495ab5;
    ++pairs_;
  }
  // Pads with zero bytes: the caller adds the size.
  constexpr void AddText(std::string_view text) {
    for (; !text.empty(); text.remove_prefix(std::min<size_t>(16, text.size()))) {
      Add(Word(text, 0), Word(text, 8));
    }
  }
  constexpr Value Finish() const {
    uint64_t hi = hi_ ^ pairs_, lo = lo_ ^ pairs_;
    hi += lo;
    lo += hi;
    hi = Mix(hi);
    lo = Mix(lo);
    hi += lo;
    lo += hi;
    return {hi, lo};
  }

 private:
  static constexpr uint64_t kA = 0x87c37b91114253d5, kB = 0x4cf5ad432745937f;
  // Bytes begin .. begin+7, the first one lowest.
  static constexpr uint64_t Word(std::string_view text, size_t begin) {
    uint64_t word = 0;
    for (size_t i = begin; i < begin + 8 && i < text.size(); ++i) {
      word |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * (i - begin));
    }
    return word;
  }

  uint64_t hi_ = 0, lo_ = 0, pairs_ = 0;
};

}  // namespace kiln::uop
