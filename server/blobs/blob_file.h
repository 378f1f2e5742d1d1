// Files of the blob store. No message has a path: they go to clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "server/blobs/sha256.h"

namespace kiln::server::internal {

// Thread-safe: positions are given. Owns its descriptor.
class BlobFile {
 public:
  // NotFound; else as the system says. Regular files only; links are not followed.
  static absl::StatusOr<std::unique_ptr<BlobFile>> OpenForReading(const std::string& path);
  // Made if it is not there.
  static absl::StatusOr<std::unique_ptr<BlobFile>> OpenForWriting(const std::string& path);
  ~BlobFile();
  BlobFile(const BlobFile&) = delete;
  BlobFile& operator=(const BlobFile&) = delete;

  absl::StatusOr<int64_t> Size() const;
  // All of it. DataLoss if the file is too short.
  absl::Status ReadAt(int64_t offset, absl::Span<std::byte> to) const;
  // All of it. ResourceExhausted: the disk is full.
  absl::Status WriteAt(int64_t offset, absl::Span<const std::byte> from);
  absl::Status Truncate(int64_t size);
  // Adds the first `size` bytes to `hash`.
  absl::Status HashTo(int64_t size, Sha256& hash) const;
  void Touch();  // Used now, for the next start. Failing does no harm.

 private:
  explicit BlobFile(int fd) : fd_(fd) {}
  static absl::StatusOr<std::unique_ptr<BlobFile>> OpenWith(const std::string& path, int flags);

  const int fd_;
};

// "the disk is full", with a code: what `what` failed with, from errno.
absl::Status DiskError(int error, absl::string_view what);

}  // namespace kiln::server::internal
