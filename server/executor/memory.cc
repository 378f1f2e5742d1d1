#include "server/executor/memory.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::server {

std::shared_ptr<Contents> Contents::Undefined() {
  auto contents = std::make_shared<Contents>();
  contents->Settle(std::nullopt);
  return contents;
}

std::shared_ptr<Contents> Contents::BeingWritten(std::shared_ptr<Contents> base) {
  auto contents = std::make_shared<Contents>();
  absl::MutexLock lock(&contents->mu_);
  contents->base_ = std::move(base);
  return contents;
}

std::shared_ptr<Contents> Contents::Failed(Failure failure) {
  auto contents = std::make_shared<Contents>();
  contents->Settle(std::move(failure));
  return contents;
}

void Contents::Settle(std::optional<Failure> failure) {
  std::shared_ptr<Contents> base;
  {
    absl::MutexLock lock(&mu_);
    base = base_;
  }
  // Writes of parts end in order, nearly always: so chains of them stay short.
  bool base_is_settled = false;
  if (base != nullptr) {
    absl::MutexLock lock(&base->mu_);
    base_is_settled = base->is_settled_ && base->base_ == nullptr;
    if (!failure.has_value() && base_is_settled) failure = base->failure_;
  }
  absl::MutexLock lock(&mu_);
  is_settled_ = true;
  failure_ = std::move(failure);
  if (base_is_settled) base_ = nullptr;
}

std::optional<Failure> Contents::failure() const {
  std::shared_ptr<Contents> next;
  for (const Contents* c = this; c != nullptr; c = next.get()) {
    std::shared_ptr<Contents> base;
    {
      absl::MutexLock lock(&c->mu_);
      if (c->failure_.has_value()) return c->failure_;
      base = c->base_;
    }
    next = std::move(base);
  }
  return std::nullopt;
}

std::shared_ptr<Contents> Allocation::contents() const {
  absl::MutexLock lock(&mu_);
  return contents_;
}

std::shared_ptr<Contents> Allocation::BeginWrite(bool is_full) {
  absl::MutexLock lock(&mu_);
  contents_ = Contents::BeingWritten(is_full ? nullptr : contents_);
  return contents_;
}

void Allocation::Poison(const Failure& failure) {
  absl::MutexLock lock(&mu_);
  contents_ = Contents::Failed(failure);
}

absl::StatusOr<MemoryRange> MemoryTable::Find(uint64_t id) const {
  if (id == 0) return absl::InvalidArgumentError("buffer ids begin at 1");
  absl::MutexLock lock(&mu_);
  const auto found = ranges_.find(id);
  if (found == ranges_.end()) return absl::NotFoundError(absl::StrCat("there is no buffer ", id));
  return found->second;
}

absl::StatusOr<MemoryRange> MemoryTable::FindReadable(uint64_t id) const {
  KILN_ASSIGN_OR_RETURN(MemoryRange range, Find(id));
  if (range.allocation == nullptr) return Poisoned(absl::StrCat("buffer ", id), range.failure);
  if (const std::optional<Failure> failure = range.allocation->contents()->failure()) {
    return Poisoned(absl::StrCat("buffer ", id), *failure);
  }
  return range;
}

absl::StatusOr<MemoryRange> MemoryTable::FindWritable(uint64_t id) const {
  KILN_ASSIGN_OR_RETURN(MemoryRange range, Find(id));
  if (range.allocation == nullptr) return Poisoned(absl::StrCat("buffer ", id), range.failure);
  if (!range.is_writable) {
    return absl::PermissionDeniedError(absl::StrCat("buffer ", id, " is shared read-only"));
  }
  return range;
}

bool MemoryTable::Has(uint64_t id) const {
  absl::MutexLock lock(&mu_);
  return ranges_.contains(id);
}

absl::Status MemoryTable::CheckNew(uint64_t id) const {
  if (id == 0) return absl::InvalidArgumentError("buffer ids begin at 1");
  absl::MutexLock lock(&mu_);
  if (closed_) return absl::FailedPreconditionError("the session has ended");
  if (ranges_.contains(id)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a buffer ", id, " already"));
  }
  if (static_cast<int64_t>(ranges_.size()) >= limits_.max_buffers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the session has ", ranges_.size(), " buffers, max_buffers of it"));
  }
  return absl::OkStatus();
}

absl::Status MemoryTable::CheckBytes(int64_t more) const {
  const int64_t used = *used_;
  if (more <= limits_.max_bytes && used <= limits_.max_bytes - more) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(more, " bytes more than the ", used,
                   " that the session has are over its max_session_bytes, ", limits_.max_bytes));
}

void MemoryTable::Add(uint64_t id, MemoryRange range) {
  absl::MutexLock lock(&mu_);
  if (!closed_) ranges_.emplace(id, std::move(range));
}

void MemoryTable::AddFailed(uint64_t id, const Failure& failure) {
  if (id == 0) return;
  absl::MutexLock lock(&mu_);
  if (closed_ || static_cast<int64_t>(ranges_.size()) >= limits_.max_buffers) return;
  ranges_.try_emplace(id, MemoryRange{.failure = failure});
}

absl::Status MemoryTable::Remove(uint64_t id) {
  if (id == 0) return absl::InvalidArgumentError("buffer ids begin at 1");
  MemoryRange dropped;  // Dies after the lock is released.
  absl::MutexLock lock(&mu_);
  const auto found = ranges_.find(id);
  if (found == ranges_.end()) return absl::NotFoundError(absl::StrCat("there is no buffer ", id));
  dropped = std::move(found->second);
  ranges_.erase(found);
  return absl::OkStatus();
}

void MemoryTable::SetShare(uint64_t id, std::shared_ptr<const void> share) {
  absl::MutexLock lock(&mu_);
  if (const auto found = ranges_.find(id); found != ranges_.end()) {
    found->second.share = std::move(share);
  }
}

void MemoryTable::Close() {
  absl::flat_hash_map<uint64_t, MemoryRange> dropped;
  absl::MutexLock lock(&mu_);
  closed_ = true;
  dropped.swap(ranges_);
}

int64_t MemoryTable::size() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(ranges_.size());
}

}  // namespace kiln::server
