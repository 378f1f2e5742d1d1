// Per-node data of a pass, indexed by node id.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/uop/uop.h"

namespace kiln::uop {

// Thread-compatible. Pages are allocated on first touch, so a map costs what the pass reaches, not
// what the graph holds; so does Clear. T is trivially copyable; an entry not set reads as T{}.
template <typename T>
class NodeMap {
 public:
  NodeMap() = default;
  NodeMap(NodeMap&& other) noexcept { *this = std::move(other); }
  NodeMap& operator=(NodeMap&& other) noexcept {
    std::swap(num_pages_, other.num_pages_);
    std::swap(pages_, other.pages_);
    std::swap(storage_, other.storage_);
    std::swap(touched_, other.touched_);
    return *this;
  }

  void Clear() {
    for (uint32_t page : touched_) pages_[page] = nullptr;
    touched_.clear();
  }
  T Get(Ref n) const {
    const uint32_t page = n->id / kPage;
    if (page >= num_pages_ || pages_[page] == nullptr) return T{};
    return (*pages_[page])[n->id % kPage];
  }
  void Set(Ref n, T value) { (*this)[n] = value; }
  // Stays valid until the map dies; Clear changes what is there.
  T& operator[](Ref n) {
    const uint32_t page = n->id / kPage;
    if (page >= num_pages_ || pages_[page] == nullptr) [[unlikely]]
      Touch(page);
    return (*pages_[page])[n->id % kPage];
  }

 private:
  static constexpr uint32_t kPage = 512;
  using Page = std::array<T, kPage>;

  [[gnu::noinline]] void Touch(uint32_t page) {
    if (page >= num_pages_) {
      storage_.resize(page + 1 + num_pages_ / 2);
      auto pages = std::make_unique<Page*[]>(storage_.size());
      std::copy_n(pages_.get(), num_pages_, pages.get());
      pages_ = std::move(pages);
      num_pages_ = static_cast<uint32_t>(storage_.size());
    }
    if (storage_[page] == nullptr) storage_[page] = std::make_unique_for_overwrite<Page>();
    storage_[page]->fill(T{});
    pages_[page] = storage_[page].get();
    touched_.push_back(page);
  }

  uint32_t num_pages_ = 0;
  std::unique_ptr<Page*[]> pages_;  // Null: nothing was set since the last Clear.
  std::vector<std::unique_ptr<Page>> storage_;
  std::vector<uint32_t> touched_;  // Pages that are not null.
};

}  // namespace kiln::uop
