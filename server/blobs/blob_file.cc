#include "server/blobs/blob_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::server::internal {
namespace {

constexpr size_t kHashBytes = size_t{1} << 20;  // Read at a time.

}  // namespace

absl::Status DiskError(int error, absl::string_view what) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server's disk for blobs is full, while ", what));
  }
  if (error == ENOENT) return absl::NotFoundError(absl::StrCat("no file, while ", what));
  return absl::UnavailableError(absl::StrCat("the server's disk for blobs fails, while ", what,
                                             ": ", absl::ErrnoToStatus(error, "").message()));
}

absl::StatusOr<std::unique_ptr<BlobFile>> BlobFile::OpenWith(const std::string& path, int flags) {
  // Without O_NONBLOCK, a pipe of this name would be waited for.
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return DiskError(errno, "opening a blob");
  std::unique_ptr<BlobFile> file(new BlobFile(fd));
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return file;
  return absl::UnavailableError("what should be a file of a blob is none");
}

absl::StatusOr<std::unique_ptr<BlobFile>> BlobFile::OpenForReading(const std::string& path) {
  return OpenWith(path, O_RDONLY);
}

absl::StatusOr<std::unique_ptr<BlobFile>> BlobFile::OpenForWriting(const std::string& path) {
  return OpenWith(path, O_RDWR | O_CREAT);
}

BlobFile::~BlobFile() { close(fd_); }

absl::StatusOr<int64_t> BlobFile::Size() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return DiskError(errno, "looking at a blob");
  return static_cast<int64_t>(info.st_size);
}

absl::Status BlobFile::ReadAt(int64_t offset, absl::Span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(fd_, to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return DiskError(errno, "reading a blob");
    if (got == 0) return absl::DataLossError("the file of a blob is too short");
    offset += got;
    to.remove_prefix(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

absl::Status BlobFile::WriteAt(int64_t offset, absl::Span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = pwrite(fd_, from.data(), from.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return DiskError(errno, "writing a blob");
    offset += put;
    from.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status BlobFile::Truncate(int64_t size) {
  while (ftruncate(fd_, size) != 0) {
    if (errno != EINTR) return DiskError(errno, "shortening a blob");
  }
  return absl::OkStatus();
}

absl::Status BlobFile::HashTo(int64_t size, Sha256& hash) const {
  std::vector<std::byte> bytes(static_cast<size_t>(std::min<int64_t>(size, kHashBytes)));
  for (int64_t at = 0; at < size;) {
    const auto part = absl::MakeSpan(bytes).first(
        static_cast<size_t>(std::min<int64_t>(size - at, static_cast<int64_t>(bytes.size()))));
    KILN_RETURN_IF_ERROR(ReadAt(at, part));
    hash.Update(part);
    at += static_cast<int64_t>(part.size());
  }
  return absl::OkStatus();
}

void BlobFile::Touch() { futimens(fd_, nullptr); }

}  // namespace kiln::server::internal
