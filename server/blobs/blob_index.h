// What the blob store has, of whom, since when: the accounts beside the files. For blob_store.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/blobs/blob_file.h"
#include "server/blobs/blob_store.h"
#include "server/blobs/sha256.h"

namespace kiln::server::internal {

// Thread-safe. Whether the file of a complete blob has been hashed since the daemon started.
struct BlobCheck {
  absl::Mutex mu;  // Held while it is hashed.
  bool is_verified ABSL_GUARDED_BY(mu) = false;
  bool is_damaged ABSL_GUARDED_BY(mu) = false;
};

// Thread-safe. An upload that is not complete. Lock order: `mu`, then the index.
struct PartialBlob {
  PartialBlob(std::string of, std::string digest, std::optional<uint64_t> bytes, std::string at)
      : owner(std::move(of)), sha256(std::move(digest)), size(bytes), path(std::move(at)) {}

  const std::string owner, sha256;
  const std::optional<uint64_t> size;  // None: found on disk, and nobody has said it yet.
  const std::string path;              // Of no other upload, ever.
  std::atomic<uint64_t> received = 0;  // Written under `mu`.

  absl::Mutex mu;  // Held while a chunk is written: one at a time.
  std::unique_ptr<BlobFile> file ABSL_GUARDED_BY(mu);
  Sha256 hash ABSL_GUARDED_BY(mu);  // Of the first `hashed` bytes.
  uint64_t hashed ABSL_GUARDED_BY(mu) = 0;
  int64_t generation ABSL_GUARDED_BY(mu) = 0;  // Of the upload that may write.
};

// Thread-safe. Owners are principals by the name of their folder.
class BlobIndex {
 public:
  BlobIndex(BlobStore::Options options, int lock_fd);
  ~BlobIndex();

  // Finds what is on disk. Once, before all else.
  absl::Status Scan();

  static std::string OwnerOf(absl::string_view principal);
  std::string PathOf(const std::string& owner, const std::string& sha256) const;
  absl::Status MakeFolderOf(const std::string& owner) const;

  // The blob is used now. Null: it is not there.
  struct Complete {
    std::shared_ptr<BlobCheck> check;
    uint64_t size;
  };
  std::optional<Complete> Use(const std::string& owner, const std::string& sha256);
  BlobStore::State Find(const std::string& owner, const std::string& sha256) const;

  // The upload of a blob, with room for it. Null: it is complete. Ended by EndUpload.
  absl::StatusOr<std::shared_ptr<PartialBlob>> BeginUpload(const std::string& owner,
                                                           const std::string& sha256,
                                                           uint64_t size);
  void EndUpload(const PartialBlob& partial);
  // All of it has been written, and its hash is right: the blob is complete. Aborted: it has been
  // dropped meanwhile.
  absl::Status Publish(const PartialBlob& partial);
  // Forgets an upload, or a blob whose file is damaged, and removes the file.
  void Drop(const PartialBlob& partial);
  void Drop(const std::string& owner, const std::string& sha256, const BlobCheck& check);
  // Removes the files of what has been forgotten.
  void Sweep();

  int64_t bytes() const;

 private:
  struct Item {
    uint64_t size = 0;
    std::shared_ptr<BlobCheck> check;      // Null: not complete.
    std::shared_ptr<PartialBlob> partial;  // Null: complete.
    int num_uploads = 0;
    int64_t charged = 0;
    int64_t last_used = 0;
  };
  struct Account {
    absl::flat_hash_map<std::string, Item> items;      // By SHA-256.
    std::set<std::pair<int64_t, std::string>> by_age;  // Of `items`, those without uploads.
    int64_t charged = 0;
    int num_uploads = 0;
  };
  using Accounts = absl::flat_hash_map<std::string, Account>;

  void ScanFolder(const std::string& owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // After a change of an item: what it costs, and when it was used.
  void Recount(Account& account, const std::string& sha256, bool is_used)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Erase(const std::string& owner, Account& account, const std::string& sha256)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Evicts until `bytes` more fit.
  absl::Status MakeRoom(const std::string& owner, Account& account, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Item* FindItem(const std::string& owner, const std::string& sha256)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int64_t Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const BlobStore::Options options_;
  const int lock_fd_;  // Held while the folder is used.
  mutable absl::Mutex mu_;
  Accounts accounts_ ABSL_GUARDED_BY(mu_);
  int64_t now_ ABSL_GUARDED_BY(mu_) = 0;  // Nanoseconds; later than all that was used.
  std::vector<std::string> trash_ ABSL_GUARDED_BY(mu_);  // Files to remove.
};

}  // namespace kiln::server::internal
