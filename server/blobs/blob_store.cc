#include "server/blobs/blob_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "server/blobs/blob_file.h"
#include "server/blobs/blob_index.h"

namespace kiln::server {
namespace {

using internal::BlobFile;
using internal::BlobIndex;
using internal::PartialBlob;

absl::Status Unusable(const std::string& folder, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("no blobs are kept in \"", folder, "\": ", why));
}

// As clients see it.
std::string NameOf(absl::string_view sha256) {
  return absl::StrCat("blob ", absl::BytesToHexString(sha256.substr(0, 8)), "...");
}

absl::Status CheckHash(absl::string_view sha256) {
  if (sha256.size() == 32) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("sha256: ", sha256.size(), " bytes given, it has 32"));
}

absl::Status NotThere(absl::string_view sha256) {
  return absl::NotFoundError(absl::StrCat(NameOf(sha256), " is not there: put it first"));
}

absl::Status Damaged(absl::string_view sha256) {
  return absl::NotFoundError(
      absl::StrCat("the file of ", NameOf(sha256), " was damaged and is gone: put it again"));
}

absl::Status TakenOver(const PartialBlob& partial) {
  return absl::AbortedError(
      absl::StrCat("another upload of ", NameOf(partial.sha256), " has taken over"));
}

}  // namespace

// ** blobs **

absl::Status Blob::ReadAt(int64_t offset, absl::Span<std::byte> to) const {
  if (offset < 0 || offset > size_ || static_cast<int64_t>(to.size()) > size_ - offset) {
    return absl::InvalidArgumentError(absl::StrCat(to.size(), " bytes at offset ", offset,
                                                   " are not within the ", size_, " of ",
                                                   NameOf(sha256_)));
  }
  absl::Status status = CheckOnce();
  if (status.ok()) status = file_->ReadAt(offset, to);
  if (!absl::IsDataLoss(status)) return status;
  index_->Drop(owner_, sha256_, *check_);
  index_->Sweep();
  return Damaged(sha256_);
}

absl::Status Blob::CheckOnce() const {
  const absl::MutexLock lock(&check_->mu);
  if (check_->is_damaged) return absl::DataLossError("");
  if (check_->is_verified) return absl::OkStatus();
  Sha256 hash;
  KILN_RETURN_IF_ERROR(file_->HashTo(size_, hash));
  check_->is_verified = hash.Finish() == sha256_;
  check_->is_damaged = !check_->is_verified;
  return check_->is_damaged ? absl::DataLossError("") : absl::OkStatus();
}

// ** uploads **

BlobUpload::~BlobUpload() {
  index_->EndUpload(*partial_);
  index_->Sweep();
}

uint64_t BlobUpload::received() const { return partial_->received; }

absl::Status BlobUpload::Write(uint64_t offset,
                               absl::Span<const absl::Span<const std::byte>> pieces) {
  const absl::MutexLock lock(&partial_->mu);
  if (partial_->generation != generation_) return TakenOver(*partial_);
  uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  const uint64_t at = partial_->received, size = *partial_->size;
  if (offset != at || bytes > size - at) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(partial_->sha256), ": a chunk of ", bytes,
                                                   " bytes at offset ", offset,
                                                   offset > at   ? " leaves a gap"
                                                   : offset < at ? " goes back"
                                                                 : " is too long",
                                                   ": the next byte is ", at, " of ", size));
  }
  for (const auto& piece : pieces) {
    KILN_RETURN_IF_ERROR(
        partial_->file->WriteAt(static_cast<int64_t>(partial_->received.load()), piece));
    partial_->hash.Update(piece);
    partial_->hashed = partial_->received += piece.size();
  }
  return absl::OkStatus();
}

absl::Status BlobUpload::Finish() {
  const absl::MutexLock lock(&partial_->mu);
  if (partial_->generation != generation_) return TakenOver(*partial_);
  if (partial_->received != *partial_->size) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(partial_->sha256), ": ended after ",
                                                   partial_->received.load(), " of ",
                                                   *partial_->size, " bytes"));
  }
  ++partial_->generation;  // Nobody goes on from here.
  const std::string is = partial_->hash.Finish();
  absl::Status status;
  if (is == partial_->sha256) {
    status = index_->Publish(*partial_);
  } else {
    status = absl::InvalidArgumentError(
        absl::StrCat("sha256: ", absl::BytesToHexString(partial_->sha256), " was announced, ",
                     absl::BytesToHexString(is), " has come"));
  }
  if (!status.ok()) index_->Drop(*partial_);
  return status;
}

// ** the store **

absl::StatusOr<std::unique_ptr<BlobStore>> BlobStore::Create(Options options) {
  const std::string& folder = options.folder;
  if (folder.empty()) return Unusable(folder, "it has no name");
  std::error_code error;
  const std::filesystem::path path(folder);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Unusable(folder, std::strerror(errno));
  }
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return Unusable(folder, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return Unusable(folder, "it is no folder");
  if (info.st_uid != geteuid()) return Unusable(folder, "it belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Unusable(folder, "other users may write to it");
  }
  const int lock =
      open(absl::StrCat(folder, "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return Unusable(folder, std::strerror(errno));
  auto index = std::make_shared<BlobIndex>(options, lock);  // Closes it.
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) return Unusable(folder, "another server uses it");
  if (absl::Status status = index->Scan(); !status.ok()) {
    return Unusable(folder, status.message());
  }
  index->Sweep();
  return std::unique_ptr<BlobStore>(new BlobStore(std::move(options), std::move(index)));
}

BlobStore::BlobStore(Options options, std::shared_ptr<BlobIndex> index)
    : options_(std::move(options)),
      index_(std::move(index)),
      pool_({.num_threads = options_.num_threads}) {}

BlobStore::~BlobStore() = default;

absl::StatusOr<std::shared_ptr<const Blob>> BlobStore::Open(absl::string_view principal,
                                                            absl::string_view sha256) {
  KILN_RETURN_IF_ERROR(CheckHash(sha256));
  const std::string owner = BlobIndex::OwnerOf(principal), hash(sha256);
  const auto complete = index_->Use(owner, hash);
  if (!complete.has_value()) return NotThere(sha256);
  auto file = BlobFile::OpenForReading(index_->PathOf(owner, hash));
  const bool is_whole =
      file.ok() && (*file)->Size().value_or(-1) == static_cast<int64_t>(complete->size);
  if (!is_whole) {
    if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
    index_->Drop(owner, hash, *complete->check);
    return Damaged(sha256);
  }
  (*file)->Touch();
  std::shared_ptr<Blob> blob(new Blob());  // NOLINT: a private constructor.
  blob->index_ = index_;
  blob->file_ = *std::move(file);
  blob->check_ = complete->check;
  blob->size_ = static_cast<int64_t>(complete->size);
  blob->owner_ = owner;
  blob->sha256_ = hash;
  return blob;
}

absl::StatusOr<BlobStore::State> BlobStore::Find(absl::string_view principal,
                                                 absl::string_view sha256) const {
  KILN_RETURN_IF_ERROR(CheckHash(sha256));
  return index_->Find(BlobIndex::OwnerOf(principal), std::string(sha256));
}

absl::StatusOr<std::unique_ptr<BlobUpload>> BlobStore::BeginUpload(absl::string_view principal,
                                                                   absl::string_view sha256,
                                                                   uint64_t size, uint64_t offset) {
  KILN_RETURN_IF_ERROR(CheckHash(sha256));
  const int64_t most = std::min(options_.max_blob_bytes, options_.max_principal_bytes);
  if (size > static_cast<uint64_t>(most)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        NameOf(sha256), " has ", size, " bytes, over the limit max_blob_bytes, ", most));
  }
  const std::string owner = BlobIndex::OwnerOf(principal);
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<PartialBlob> partial,
                        index_->BeginUpload(owner, std::string(sha256), size));
  index_->Sweep();
  if (partial == nullptr) return nullptr;
  std::unique_ptr<BlobUpload> upload(new BlobUpload());
  upload->index_ = index_;
  upload->partial_ = partial;  // From here its end is told.
  KILN_RETURN_IF_ERROR(index_->MakeFolderOf(owner));
  KILN_RETURN_IF_ERROR(upload->Resume(offset));
  return upload;
}

absl::Status BlobUpload::Resume(uint64_t offset) {
  PartialBlob& partial = *partial_;
  const absl::MutexLock lock(&partial.mu);
  if (offset > partial.received) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(partial.sha256), ": offset ", offset,
                                                   " is beyond the ", partial.received.load(),
                                                   " bytes that have been received"));
  }
  if (partial.file == nullptr) {
    KILN_ASSIGN_OR_RETURN(partial.file, BlobFile::OpenForWriting(partial.path));
  }
  generation_ = ++partial.generation;
  if (offset == partial.received && partial.hashed == offset) return absl::OkStatus();
  KILN_RETURN_IF_ERROR(partial.file->Truncate(static_cast<int64_t>(offset)));
  partial.received = offset;
  partial.hash = Sha256();
  partial.hashed = 0;
  KILN_RETURN_IF_ERROR(partial.file->HashTo(static_cast<int64_t>(offset), partial.hash));
  partial.hashed = offset;
  return absl::OkStatus();
}

int64_t BlobStore::bytes() const { return index_->bytes(); }

}  // namespace kiln::server
