#include "core/runtime/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/check.h"

namespace kiln::runtime {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kMappedFrom = int64_t{64} << 10;  // Smaller blocks come from malloc.

// Sizes of blocks: eight steps for each doubling, so that at most an eighth is lost.
int64_t BlockBytes(int64_t bytes) {
  const int64_t step =
      std::max<int64_t>(HostMemory::kAlignment,
                        static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 8);
  return (bytes + step - 1) / step * step;
}

std::byte* Map(int64_t bytes) {
  if (bytes < kMappedFrom) {
    return static_cast<std::byte*>(
        std::aligned_alloc(HostMemory::kAlignment, static_cast<size_t>(bytes)));
  }
  // Huge pages need an aligned start, which mmap does not promise: take more, cut the ends off.
  const int64_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes + slack), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  if (slack == 0) return begin;
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const auto before = static_cast<int64_t>((kHugePage - address % kHugePage) % kHugePage);
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t used = (bytes + page - 1) / page * page;
  const int64_t mapped_bytes = (bytes + slack + page - 1) / page * page;
  if (before > 0) munmap(begin, static_cast<size_t>(before));
  if (const int64_t after = mapped_bytes - before - used; after > 0) {
    munmap(begin + before + used, static_cast<size_t>(after));
  }
  madvise(begin + before, static_cast<size_t>(used), MADV_HUGEPAGE);  // A hint: may fail.
  return begin + before;
}

void Unmap(std::byte* data, int64_t bytes) {
  if (bytes < kMappedFrom) {
    std::free(data);
  } else {
    munmap(data, static_cast<size_t>(bytes));
  }
}

int64_t MachineBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

// Gives its block back when it dies.
class HostMemory::PooledBuffer final : public Buffer {
 public:
  PooledBuffer(HostMemory& memory, Block block, int64_t bytes)
      : Buffer(memory.device_, bytes, block.data), memory_(memory), block_(block) {}
  ~PooledBuffer() override { memory_.Free(block_); }

 private:
  HostMemory& memory_;
  const Block block_;
};

HostMemory::HostMemory(Device& device, Options options)
    : device_(device),
      options_{options.total_bytes > 0 ? options.total_bytes : MachineBytes(),
               options.max_kept_bytes} {}

HostMemory::~HostMemory() {
  absl::MutexLock lock(&mu_);
  Trim(0);
}

MemoryLimits HostMemory::Limits() const {
  return {.alignment = kAlignment,
          .max_alloc_bytes = options_.total_bytes,
          .total_bytes = options_.total_bytes};
}

int64_t HostMemory::used_bytes() const {
  absl::MutexLock lock(&mu_);
  return used_bytes_;
}

absl::StatusOr<std::unique_ptr<Buffer>> HostMemory::Allocate(int64_t bytes, BufferUse /*use*/) {
  if (bytes <= 0 || bytes > options_.total_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a buffer of ", bytes, " bytes; it may have 1 to ", options_.total_bytes));
  }
  Block block = {nullptr, BlockBytes(bytes)};
  {
    absl::MutexLock lock(&mu_);
    if (used_bytes_ + block.bytes > options_.total_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("a buffer of ", bytes, " bytes; ",
                                                       options_.total_bytes - used_bytes_, " of ",
                                                       options_.total_bytes, " are free"));
    }
    used_bytes_ += block.bytes;
    if (auto found = kept_.find(block.bytes); found != kept_.end()) {
      block.data = found->second.back();
      found->second.pop_back();
      if (found->second.empty()) kept_.erase(found);
      kept_bytes_ -= block.bytes;
    }
  }
  if (block.data == nullptr) block.data = Map(block.bytes);
  if (block.data == nullptr) {
    absl::MutexLock lock(&mu_);
    used_bytes_ -= block.bytes;
    return absl::ResourceExhaustedError(
        absl::StrCat("the system has no memory for a buffer of ", bytes, " bytes"));
  }
  return std::make_unique<PooledBuffer>(*this, block, bytes);
}

absl::StatusOr<std::unique_ptr<Buffer>> HostMemory::Import(absl::Span<std::byte> host,
                                                           HostLifetime /*lifetime*/) {
  if (host.empty() || reinterpret_cast<uintptr_t>(host.data()) % kAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("imported memory must be aligned to ", kAlignment, " bytes and not empty"));
  }
  return std::make_unique<Buffer>(device_, static_cast<int64_t>(host.size()), host.data());
}

void HostMemory::Free(Block block) {
  absl::MutexLock lock(&mu_);
  used_bytes_ -= block.bytes;
  kept_bytes_ += block.bytes;
  kept_[block.bytes].push_back(block.data);
  Trim(options_.max_kept_bytes);
}

void HostMemory::Trim(int64_t max_bytes) {
  while (kept_bytes_ > max_bytes) {
    auto largest = std::prev(kept_.end());
    Unmap(largest->second.back(), largest->first);
    kept_bytes_ -= largest->first;
    largest->second.pop_back();
    if (largest->second.empty()) kept_.erase(largest);
  }
}

}  // namespace kiln::runtime
