// Memory of one Graph: node chunks with dense ids, and a bump allocator for everything else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"

#include "core/uop/uop.h"

namespace kiln::uop {

// Memory for a graph. Blocks whose size is a power of two, from kMinWarmBytes to kMaxWarmBytes, return
// to a cache of the thread when released and are handed out again: warm pages are the difference
// between a cold and a warm compile. Larger and odd ones come from the heap; those of 2 MiB and more
// ask for huge pages. Aligned to 64 bytes; contents undefined.
inline constexpr size_t kMinWarmBytes = size_t{4} << 10;
inline constexpr size_t kMaxWarmBytes = size_t{8} << 20;
void* AcquireBlock(size_t bytes);
// Pre: from AcquireBlock(bytes), on any thread.
void ReleaseBlock(void* block, size_t bytes);

// Thread-compatible. An array of zero bytes, its size fixed.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

 public:
  explicit ZeroedArray(size_t size)
      : size_(size), data_(static_cast<T*>(AcquireBlock(size * sizeof(T)))) {
    std::memset(static_cast<void*>(data_), 0, size * sizeof(T));
  }
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;
  ~ZeroedArray() { ReleaseBlock(data_, size_ * sizeof(T)); }

  void Swap(ZeroedArray& other) {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
  }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  size_t size_;
  T* data_;
};

// Thread-compatible. Nodes in chunks that double in size, so that an id finds its node with a bit
// scan and a graph of ten nodes costs as little as one of ten million is far from copying. Chunks
// return to a cache of the thread when the store dies: warm pages are the difference between a cold
// and a warm compile.
class NodeStore {
 public:
  static constexpr uint32_t kFirstChunk = 256;  // Nodes.

  NodeStore() = default;
  NodeStore(const NodeStore&) = delete;
  NodeStore& operator=(const NodeStore&) = delete;
  ~NodeStore();

  uint32_t size() const { return size_; }
  const UOp* At(uint32_t id) const {
    return reinterpret_cast<const UOp*>(origin_[ChunkOf(id)] + size_t{id} * sizeof(UOp));
  }
  // Memory for the node with id size(), which grows by one. The contents are undefined.
  UOp* Append() {
    if (size_ == limit_) AddChunk();
    return &current_[size_++ - current_start_];
  }
  // Bytes mapped.
  int64_t capacity_bytes() const;

 private:
  static constexpr int kMaxChunks = 25;  // 2^32 nodes.
  static_assert(absl::has_single_bit(kFirstChunk));
  static size_t ChunkOf(uint32_t id) {
    return static_cast<size_t>(absl::bit_width(id | (kFirstChunk - 1)) -
                               absl::bit_width(kFirstChunk - 1));
  }
  static uint32_t ChunkStart(int chunk) { return chunk == 0 ? 0 : kFirstChunk << (chunk - 1); }
  static uint32_t ChunkNodes(int chunk) {
    return chunk == 0 ? kFirstChunk : kFirstChunk << (chunk - 1);
  }
  void AddChunk();

  uint32_t size_ = 0;
  uint32_t limit_ = 0;
  uint32_t current_start_ = 0;
  int num_chunks_ = 0;
  UOp* current_ = nullptr;
  std::array<UOp*, kMaxChunks> chunks_{};
  std::array<uintptr_t, kMaxChunks> origin_{};  // Where node 0 would be if it were in the chunk.
};

// Thread-compatible. Hands out memory that is never freed singly.
class BumpAllocator {
 public:
  BumpAllocator() = default;
  BumpAllocator(const BumpAllocator&) = delete;
  BumpAllocator& operator=(const BumpAllocator&) = delete;
  ~BumpAllocator();

  // Aligned to 16 bytes.
  void* Allocate(size_t bytes) {
    bytes = (bytes + 15) & ~size_t{15};
    if (bytes > left_) return AllocateSlow(bytes);
    void* result = next_;
    next_ += bytes;
    left_ -= bytes;
    return result;
  }
  template <typename T>
  T* AllocateArray(size_t n) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16);
    return static_cast<T*>(Allocate(n * sizeof(T)));
  }
  int64_t capacity_bytes() const { return capacity_bytes_; }

 private:
  void* AllocateSlow(size_t bytes);

  std::byte* next_ = nullptr;
  size_t left_ = 0;
  size_t next_block_bytes_ = 16 << 10;
  int64_t capacity_bytes_ = 0;
  struct Block {
    void* memory;
    size_t bytes;
  };
  std::vector<Block> blocks_;
};

}  // namespace kiln::uop
