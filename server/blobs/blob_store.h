// Content kept by its SHA-256, in files: what clients put once and copy to buffers many times.
//
//   KILN_ASSIGN_OR_RETURN(const std::unique_ptr<BlobStore> store, BlobStore::Create({.folder = f}));
//   KILN_ASSIGN_OR_RETURN(auto upload, store->BeginUpload(principal, sha256, size, 0));
//   if (upload != nullptr) {  // It is not there yet.
//     KILN_RETURN_IF_ERROR(upload->Write(0, pieces));
//     KILN_RETURN_IF_ERROR(upload->Finish());
//   }
//   KILN_ASSIGN_OR_RETURN(std::shared_ptr<const Blob> blob, store->Open(principal, sha256));
//
// Everybody sees what they have put themselves, whatever others have: knowing a hash gives nobody
// access. An upload that breaks off stays, and goes on where it was, also after a restart. What is
// complete appears under its name at once and as a whole; a file found at a restart is hashed before
// the first byte of it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "server/work_pool.h"

namespace kiln::server {

namespace internal {
class BlobIndex;
class BlobFile;
struct PartialBlob;
struct BlobCheck;
}  // namespace internal

// Thread-safe. Complete content. Stays readable when it is evicted meanwhile.
class Blob {
 public:
  int64_t size() const { return size_; }  // Bytes.
  // Fills `to`. InvalidArgument if that is not within the blob. NotFound: its file was damaged, and
  // is gone now; it has to be put again. Blocks on the disk; the first read of a file that was there
  // when the daemon started hashes it all, at about 2 GB/s.
  absl::Status ReadAt(int64_t offset, absl::Span<std::byte> to) const;

 private:
  friend class BlobStore;
  Blob() = default;
  absl::Status CheckOnce() const;  // DataLoss: damaged.

  std::shared_ptr<internal::BlobIndex> index_;
  std::shared_ptr<internal::BlobFile> file_;
  std::shared_ptr<internal::BlobCheck> check_;
  int64_t size_ = 0;
  std::string owner_, sha256_;
};

// Confined to one stream (one call at a time). All methods block on the disk, and hash. What has
// been written stays when it is destroyed before Finish.
class BlobUpload {
 public:
  ~BlobUpload();

  // Appends a chunk, given in pieces, which begins `offset` bytes into the blob: where the last one
  // ended. InvalidArgument: a gap, an overlap, or beyond the size. Aborted: another upload of the
  // same blob has taken over. ResourceExhausted: the disk is full.
  absl::Status Write(uint64_t offset, absl::Span<const absl::Span<const std::byte>> pieces);
  // Checks the hash and publishes the blob. InvalidArgument: bytes are missing; or they have another
  // hash, and have been dropped.
  absl::Status Finish();
  uint64_t received() const;

 private:
  friend class BlobStore;
  BlobUpload() = default;
  absl::Status Resume(uint64_t offset);

  std::shared_ptr<internal::BlobIndex> index_;
  std::shared_ptr<internal::PartialBlob> partial_;
  int64_t generation_ = 0;
};

// Thread-safe. Blobs and uploads may outlive it. The hashes of calls are of 32 bytes, else
// InvalidArgument.
class BlobStore {
 public:
  struct Options {
    std::string folder;
    int64_t max_blob_bytes = int64_t{64} << 30;
    // Of what one principal keeps; the least recently used goes first. A blob counts as 4 KiB at
    // least, an upload under way as all of it.
    int64_t max_principal_bytes = int64_t{64} << 30;
    int max_uploads = 64;  // At a time, of one principal.
    int num_threads = 2;   // For Post.
  };
  // Makes the folder, readable for the user alone, if it is not there. FailedPrecondition if it
  // can't be used: can't be made or written, belongs to another user, or another daemon uses it.
  static absl::StatusOr<std::unique_ptr<BlobStore>> Create(Options options);
  ~BlobStore();

  // What this principal has put. NotFound.
  absl::StatusOr<std::shared_ptr<const Blob>> Open(absl::string_view principal,
                                                   absl::string_view sha256);

  struct State {
    bool is_complete = false;
    uint64_t received = 0;  // Of an upload that broke off, or is under way.
  };
  // Never blocks on the disk.
  absl::StatusOr<State> Find(absl::string_view principal, absl::string_view sha256) const;

  // An upload that goes on `offset` bytes into what has been received; null if the blob is there.
  // One at a time: an earlier one of the same blob ends with Aborted. Blocks on the disk; hashes
  // what is there from before a restart. InvalidArgument: more was skipped than has been received.
  // ResourceExhausted: a limit, or the disk.
  absl::StatusOr<std::unique_ptr<BlobUpload>> BeginUpload(absl::string_view principal,
                                                          absl::string_view sha256, uint64_t size,
                                                          uint64_t offset);

  // Runs work on a thread of the store: for what blocks. Destroying the store waits for it.
  void Post(std::function<void()> work) { pool_.Post(std::move(work)); }

  int64_t bytes() const;  // On disk, of all principals.
  const Options& options() const { return options_; }

 private:
  BlobStore(Options options, std::shared_ptr<internal::BlobIndex> index);

  const Options options_;
  const std::shared_ptr<internal::BlobIndex> index_;
  WorkPool pool_;  // Last: its work uses the others.
};

}  // namespace kiln::server
