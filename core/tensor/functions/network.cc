#include "core/tensor/functions/network.h"

#include <algorithm>
#include <limits>

namespace kiln::tensor::functions {
namespace {

constexpr int64_t kPast = std::numeric_limits<int64_t>::max();  // After every word.

// Substages of the network in one kernel: each element is made of 2^kFused of the kernel before.
constexpr int kFused = 2;

// The least b for which n <= 2^b.
int BitsFor(int64_t n) {
  int bits = 0;
  while (int64_t{1} << bits < n) ++bits;
  return bits;
}

class Network {
 public:
  // x: [..., 2^k].
  explicit Network(const Tensor& x) : words_(x), last_(x.dim(-1).value()) {}

  // Blocks of 2^bits, of two halves in order, become blocks in order.
  void Merge(int bits) {
    Compare(bits - 1, /*mirrored=*/true);
    for (int bit = bits - 2; bit >= 0; --bit) Compare(bit, false);
  }
  // Of every two blocks of 2^bits in order, the smaller half of their elements, in order.
  void Halve(int bits) {
    const int64_t block = int64_t{1} << bits;
    const Tensor pairs = Split({last_ / (2 * block), 2, block});
    const Tensor other = Flip(Select(pairs, -2, 1), {pairs.rank() - 2});
    last_ /= 2;
    words_ = Joined(Minimum(Select(pairs, -2, 0), other));
    for (int bit = bits - 1; bit >= 0; --bit) Compare(bit, false);
    if (bits == 0) Stored();
  }
  int64_t last() const { return last_; }
  const Tensor& words() const { return words_; }

 private:
  Tensor Split(std::initializer_list<int64_t> sizes) const {
    Shape shape = words_.shape();
    if (shape.empty()) return {};
    shape.pop_back();
    shape.insert(shape.end(), sizes.begin(), sizes.end());
    return Reshape(words_, shape);
  }
  Tensor Joined(const Tensor& x) const {
    Shape shape = words_.shape();
    if (shape.empty()) return {};
    shape.back() = last_;
    return Reshape(x, shape);
  }
  void Stored() {
    if (!words_ || !words_.composer()->ok()) return;
    Composer& c = *words_.composer();
    words_ = c.Take(c.builder().Contiguous(words_.value()));
  }
  // Each element with one whose position differs in bit `bit`, and in those below, too, if mirrored.
  void Compare(int bit, bool mirrored) {
    const int64_t half = int64_t{1} << bit;
    const Tensor x = Split({last_ / (2 * half), 2, half});
    if (!x) return;
    Axes flipped = {x.rank() - 2};
    if (mirrored) flipped.push_back(x.rank() - 1);
    const Tensor partner = Flip(x, flipped);
    const Tensor upper = Cast(Positions(*x.composer(), DType::kInt32, 2, 2, 0), DType::kBool);
    words_ = Joined(Where(NotEqual(x < partner, upper), x, partner));
    if (bit % kFused == 0) Stored();
  }

  Tensor words_;
  int64_t last_;
};

}  // namespace

Tensor OrderedKeys(const Tensor& x, bool descending, int part) {
  if (!x) return {};
  const bool is_wide = dtype::SizeBits(x.dtype()) == 64;
  const DType word = is_wide ? DType::kInt64 : DType::kInt32;
  const int64_t lowest = is_wide ? std::numeric_limits<int64_t>::min() : int64_t{INT32_MIN};
  const auto literal = [&](int64_t v) { return Integer(*x.composer(), word, v); };
  Tensor key, nan;
  if (x.is_float()) {
    const Tensor f = Widened(x);
    const Tensor bits = Bitcast(Where(Equal(f, 0), 0, f), word);  // -0 is 0.
    key = Where(bits < 0, Alu(Op::kXor, bits, literal(~lowest)), bits);
    nan = NotEqual(f, f);
  } else if (dtype::SizeBits(x.dtype()) >= 32 && !dtype::IsSigned(x.dtype())) {
    key = Alu(Op::kXor, Bitcast(x, word), literal(lowest));
  } else {
    key = Cast(x, word);
  }
  if (descending) key = Alu(Op::kXor, key, literal(-1));
  if (nan) key = Where(nan, literal(~lowest), key);
  if (!is_wide) return key;
  if (part == 1) return Cast(Alu(Op::kShr, key, literal(32)), DType::kInt32);
  return Alu(Op::kXor, Cast(key, DType::kInt32), Integer(*x.composer(), DType::kInt32, INT32_MIN));
}

Tensor WordsOf(const Tensor& keys) {
  if (!keys) return {};
  Composer& c = *keys.composer();
  const Tensor upper = Alu(Op::kShl, Cast(keys, DType::kInt64), Integer(c, DType::kInt64, 32));
  return upper | Arange(c, DType::kInt64, keys.dim(-1));
}

Tensor OrderedWords(const Tensor& x, bool descending) {
  return WordsOf(OrderedKeys(x, descending));
}

Tensor PositionIn(const Tensor& word) { return Cast(word, DType::kInt32); }

// Source: Batcher, "Sorting networks and their applications", AFIPS 1968: bitonic merges, with the
// second half read backwards, so that all comparisons go the same way.
Tensor Smallest(const Tensor& words, const Size& count) {
  if (!words || !words.composer()->ok()) return {};
  Composer& c = *words.composer();
  const Size n = words.dim(-1);
  const int64_t most = c.Bound(n);
  if (most > int64_t{1} << 30) return c.Fail("a line of ", most, " elements is too long to sort");
  if (!c.ok()) return {};
  const int all = BitsFor(most), kept = std::min(all, BitsFor(c.Bound(count)));
  const int64_t size = int64_t{1} << all;
  const Tensor past = Integer(c, DType::kInt64, kPast);
  const Tensor position = Arange(c, DType::kInt64, size);
  Tensor padded = words;
  if (!n.Is(size)) {
    padded = Where(position < Literal(c, DType::kInt64, n), Pad(words, -1, 0, size - n), past);
  }
  Network network(padded);
  for (int bits = 1; bits <= kept; ++bits) network.Merge(bits);
  while (network.last() > int64_t{1} << kept) network.Halve(kept);
  return Slice(network.words(), -1, 0, count);
}

}  // namespace kiln::tensor::functions
