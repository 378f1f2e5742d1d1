// Per-node data of a pass, indexed by node id.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/uop/uop.h"

namespace kiln::uop {

// Thread-compatible. Pages are allocated on first touch, so a map costs what the pass reaches, not
// what the graph holds; Clear is O(1). T is trivially copyable; an entry not set reads as T{}.
template <typename T>
class NodeMap {
 public:
  void Clear() {
    if (++epoch_ == 0) {  // Wrapped after 2^32 clears: forget the stamps.
      for (auto& p : pages_) {
        if (p != nullptr) p->epoch = 0;
      }
      epoch_ = 1;
    }
  }
  T Get(Ref n) const {
    const uint32_t page = n->id / kPage;
    if (page >= pages_.size() || pages_[page] == nullptr || pages_[page]->epoch != epoch_) {
      return T{};
    }
    return pages_[page]->value[n->id % kPage];
  }
  void Set(Ref n, T value) { (*this)[n] = value; }
  T& operator[](Ref n) {
    const uint32_t page = n->id / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1 + pages_.size() / 2);
    auto& p = pages_[page];
    if (p == nullptr) p = std::make_unique_for_overwrite<Page>();
    if (p->epoch != epoch_) {
      p->value.fill(T{});
      p->epoch = epoch_;
    }
    return p->value[n->id % kPage];
  }

 private:
  static constexpr uint32_t kPage = 512;
  struct Page {
    Page() : epoch(0) {}
    uint32_t epoch;
    std::array<T, kPage> value;
  };
  uint32_t epoch_ = 1;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace kiln::uop
