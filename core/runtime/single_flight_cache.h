// A bounded cache whose values are made once, however many threads ask for one at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace kiln::runtime {

// Thread-safe. `Value` is cheap to copy (a shared_ptr): users keep what they have when it is
// evicted. The least recently used go first. Failures are told to those who wait, and forgotten.
template <typename Key, typename Value>
class SingleFlightCache {
 public:
  explicit SingleFlightCache(size_t capacity) : capacity_(capacity) {}

  // The value of `key`; if there is none, that of `make()` -> StatusOr<Value>, which is called by
  // one thread while others with the same key wait. `make` may use other caches, not this one.
  template <typename Make>
  absl::StatusOr<Value> Get(const Key& key, Make make) {
    bool mine = false;
    const std::shared_ptr<Entry> entry = FindOrAdd(key, mine);
    if (mine) {
      entry->result = make();
      Finish(key, entry);
      entry->done.Notify();
    } else {
      entry->done.WaitForNotification();
    }
    return entry->result;
  }

  size_t size() const {
    absl::MutexLock lock(&mu_);
    return entries_.size();
  }

 private:
  struct Entry {
    absl::Notification done;
    absl::StatusOr<Value> result;  // Written by the one who makes it, before `done`.
    bool finished = false;         // As seen under mu_: may be evicted.
    typename std::list<Key>::iterator age;
  };

  std::shared_ptr<Entry> FindOrAdd(const Key& key, bool& added) {
    absl::MutexLock lock(&mu_);
    auto& slot = entries_[key];
    added = slot == nullptr;
    if (added) {
      slot = std::make_shared<Entry>();
      by_age_.push_front(key);
      slot->age = by_age_.begin();
    } else {
      by_age_.splice(by_age_.begin(), by_age_, slot->age);
    }
    return slot;
  }

  void Finish(const Key& key, const std::shared_ptr<Entry>& entry) {
    std::list<std::shared_ptr<Entry>> dropped;  // Their values die after the lock is released.
    absl::MutexLock lock(&mu_);
    entry->finished = true;
    if (!entry->result.ok()) {
      by_age_.erase(entry->age);
      entries_.erase(key);
    }
    for (auto it = by_age_.end(); entries_.size() > capacity_ && it != by_age_.begin();) {
      --it;
      const auto found = entries_.find(*it);
      if (!found->second->finished) continue;
      dropped.push_back(std::move(found->second));
      entries_.erase(found);
      it = by_age_.erase(it);
    }
  }

  const size_t capacity_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<Key, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
  std::list<Key> by_age_ ABSL_GUARDED_BY(mu_);  // The most recently used first.
};

}  // namespace kiln::runtime
