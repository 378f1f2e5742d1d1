#include "core/uop/arena.h"

#include <sys/mman.h>

#include <new>

#include "core/dtype/check.h"

namespace kiln::uop {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 64;

size_t AlignmentOf(size_t bytes) { return bytes >= kHugePage ? kHugePage : kAlignment; }

void* Map(size_t bytes) {
  void* p = ::operator new(bytes, std::align_val_t{AlignmentOf(bytes)});
  // Advice only: failing changes nothing but speed.
  if (bytes >= kHugePage) madvise(p, bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
  return p;
}
void Unmap(void* p, size_t bytes) { ::operator delete(p, std::align_val_t{AlignmentOf(bytes)}); }

bool IsWarm(size_t bytes) {
  return bytes >= kMinWarmBytes && bytes <= kMaxWarmBytes && absl::has_single_bit(bytes);
}

// Blocks of dead graphs, kept for the next graph of this thread: at most 36 MiB.
class BlockCache {
 public:
  ~BlockCache() {
    for (size_t i = 0; i < kSizes; ++i) {
      for (void* p : free_[i]) Unmap(p, kMinWarmBytes << i);
    }
  }
  // Null if there is none.
  void* Take(size_t bytes) {
    std::vector<void*>& list = free_[Class(bytes)];
    if (list.empty()) return nullptr;
    void* p = list.back();
    list.pop_back();
    return p;
  }
  // False if there are enough.
  bool Give(void* p, size_t bytes) {
    std::vector<void*>& list = free_[Class(bytes)];
    if (list.size() >= (bytes < kHugePage ? 4 : 2)) return false;
    list.push_back(p);
    return true;
  }

 private:
  static size_t Class(size_t bytes) {
    return static_cast<size_t>(absl::bit_width(bytes / kMinWarmBytes)) - 1;
  }
  static constexpr size_t kSizes = absl::bit_width(kMaxWarmBytes / kMinWarmBytes);
  std::array<std::vector<void*>, kSizes> free_;
};

// Null while the thread ends: graphs may outlive its cache then.
BlockCache* ThreadCache() {
  struct Holder {
    explicit Holder(BlockCache*& p) : cache_(p) { cache_ = &blocks_; }
    ~Holder() { cache_ = nullptr; }
    BlockCache blocks_;
    BlockCache*& cache_;
  };
  thread_local BlockCache* cache = nullptr;
  thread_local Holder holder(cache);
  return cache;
}

size_t ChunkBytes(uint32_t nodes) { return size_t{nodes} * sizeof(UOp); }

}  // namespace

void* AcquireBlock(size_t bytes) {
  if (IsWarm(bytes)) {
    BlockCache* cache = ThreadCache();
    if (void* p = cache == nullptr ? nullptr : cache->Take(bytes)) return p;
  }
  return Map(bytes);
}

void ReleaseBlock(void* block, size_t bytes) {
  if (IsWarm(bytes)) {
    BlockCache* cache = ThreadCache();
    if (cache != nullptr && cache->Give(block, bytes)) return;
  }
  Unmap(block, bytes);
}

NodeStore::~NodeStore() {
  for (int i = 0; i < num_chunks_; ++i) {
    ReleaseBlock(chunks_[static_cast<size_t>(i)], ChunkBytes(ChunkNodes(i)));
  }
}

void NodeStore::AddChunk() {
  KILN_CHECK(num_chunks_ < kMaxChunks);  // 2^32 nodes: callers limit graphs long before.
  current_ = static_cast<UOp*>(AcquireBlock(ChunkBytes(ChunkNodes(num_chunks_))));
  chunks_[static_cast<size_t>(num_chunks_)] = current_;
  current_start_ = ChunkStart(num_chunks_);
  origin_[static_cast<size_t>(num_chunks_)] =
      reinterpret_cast<uintptr_t>(current_) - current_start_ * sizeof(UOp);
  limit_ = current_start_ + ChunkNodes(num_chunks_);
  ++num_chunks_;
}

int64_t NodeStore::capacity_bytes() const {
  return int64_t{limit_} * static_cast<int64_t>(sizeof(UOp));
}

BumpAllocator::~BumpAllocator() {
  for (const Block& b : blocks_) ReleaseBlock(b.memory, b.bytes);
}

void* BumpAllocator::AllocateSlow(size_t bytes) {
  const size_t block = bytes > next_block_bytes_ ? bytes : next_block_bytes_;
  auto* p = static_cast<std::byte*>(AcquireBlock(block));
  blocks_.push_back({p, block});
  capacity_bytes_ += static_cast<int64_t>(block);
  if (next_block_bytes_ < kMaxWarmBytes / 2) next_block_bytes_ *= 2;
  // The rest of an outgrown block is lost; blocks double, so that is at most half.
  if (block - bytes >= left_) {
    next_ = p + bytes;
    left_ = block - bytes;
  }
  return p;
}

}  // namespace kiln::uop
