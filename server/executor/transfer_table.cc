#include "server/executor/transfer_table.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"

namespace kiln::server::internal {
namespace {

absl::string_view CommandOf(TransferWay d) { return d == TransferWay::kIn ? "CopyIn" : "CopyOut"; }
absl::string_view CallOf(TransferWay d) { return d == TransferWay::kIn ? "PutData" : "GetData"; }

}  // namespace

TransferHold::~TransferHold() { table->Detach(*this); }

// ** commands **

absl::StatusOr<TransferTable::EntryRef> TransferTable::FindOrMake(uint64_t id) {
  if (cancelled_.has_value()) return *cancelled_;
  if (id == 0) return absl::InvalidArgumentError("transfer: 0 is no id");
  if (const auto it = entries_.find(id); it != entries_.end()) return it->second;
  if (static_cast<int64_t>(entries_.size()) >= options_.max_transfers) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "transfer ", id, ": more than the limit max_transfers, ", options_.max_transfers));
  }
  auto entry = std::make_shared<TransferEntry>(id);
  entry->progress = options_.now();
  entries_.emplace(id, entry);
  return entry;
}

void TransferTable::Expect(uint64_t id) {
  const absl::MutexLock lock(&mu_);
  // Without room the command will be told so.
  if (const auto entry = FindOrMake(id); entry.ok()) (*entry)->is_expected = true;
}

absl::StatusOr<TransferTable::EntryRef> TransferTable::ForCommand(uint64_t id, TransferWay way) {
  KILN_ASSIGN_OR_RETURN(EntryRef entry, FindOrMake(id));
  if (entry->has_command) {
    return absl::AlreadyExistsError(absl::StrCat("transfer ", id, " is under way"));
  }
  if (entry->way.value_or(way) != way) {
    return absl::InvalidArgumentError(absl::StrCat("transfer ", id, ": a ", CommandOf(way),
                                                   " can't serve the ", CallOf(*entry->way),
                                                   " that waits for it"));
  }
  return entry;
}

absl::Status TransferTable::Start(uint64_t id, TransferWay way, absl::Span<const std::byte> bytes,
                                  std::byte* target, std::shared_ptr<void> keep,
                                  Transfers::Done done) {
  Effects effects;
  const absl::MutexLock lock(&mu_);
  KILN_ASSIGN_OR_RETURN(const EntryRef entry, ForCommand(id, way));
  entry->way = way;
  entry->has_command = true;
  entry->data = bytes.data();
  entry->target = target;
  entry->size = bytes.size();
  entry->keep = std::move(keep);
  entry->done = std::move(done);
  entry->progress = options_.now();
  MaybeReady(*entry, effects);
  return absl::OkStatus();
}

void TransferTable::Fail(uint64_t id, const absl::Status& why) {
  Effects effects;
  const absl::MutexLock lock(&mu_);
  const auto it = entries_.find(id);
  if (it == entries_.end() || it->second->has_command) return;
  const EntryRef entry = it->second;
  End(*entry, why, effects);
}

void TransferTable::Stop(const absl::Status& why, bool for_ever) {
  Effects effects;
  const absl::MutexLock lock(&mu_);
  if (for_ever && !cancelled_.has_value()) cancelled_ = why;
  std::vector<EntryRef> entries;
  for (const auto& [id, entry] : entries_) {
    if (for_ever || entry->has_command) entries.push_back(entry);
  }
  for (const EntryRef& entry : entries) End(*entry, why, effects);
}

void TransferTable::Settle(TransferEntry& entry, absl::Status status, Effects& effects) {
  if (entry.done == nullptr) return;
  effects.Add([done = std::exchange(entry.done, nullptr), keep = std::exchange(entry.keep, nullptr),
               status = std::move(status)] { done(status); });
}

void TransferTable::Oust(TransferEntry& entry, const absl::Status& why, Effects& effects) {
  TransferHold* const hold = std::exchange(entry.holder, nullptr);
  if (hold == nullptr) return;
  hold->ended = why;
  if (std::shared_ptr<TransferStream> stream = hold->stream.lock()) {
    effects.Add([stream = std::move(stream), why] { stream->OnEnd(why); });
  }
}

void TransferTable::End(TransferEntry& entry, const absl::Status& why, Effects& effects) {
  Oust(entry, why, effects);
  if (entry.is_over) return;
  entry.is_over = true;
  entries_.erase(entry.id);
  if (entry.is_writing) {
    entry.ends_with = why;
  } else {
    Settle(entry, why, effects);
  }
}

// ** streams **

absl::StatusOr<std::unique_ptr<TransferHold>> TransferTable::Attach(
    uint64_t id, TransferWay way, const std::shared_ptr<TransferStream>& stream) {
  Effects effects;
  const absl::MutexLock lock(&mu_);
  KILN_ASSIGN_OR_RETURN(const EntryRef entry, FindOrMake(id));
  if (entry->way.value_or(way) != way) {
    return absl::InvalidArgumentError(absl::StrCat(
        "transfer ", id, " is of a ", CommandOf(*entry->way), ": it takes ", CallOf(*entry->way)));
  }
  entry->way = way;
  Oust(*entry, absl::AbortedError(absl::StrCat("another stream has taken over transfer ", id)),
       effects);
  auto hold = std::make_unique<TransferHold>(shared_from_this(), entry, stream);
  entry->holder = hold.get();
  entry->is_sent = false;
  entry->progress = options_.now();
  MaybeReady(*entry, effects);
  return hold;
}

void TransferTable::MaybeReady(TransferEntry& entry, Effects& effects) {
  TransferHold* const hold = entry.holder;
  if (hold == nullptr || hold->is_ready || !entry.has_command || entry.is_writing) return;
  hold->is_ready = true;
  if (entry.way == TransferWay::kOut) hold->lease = MakeLease(hold->entry);
  if (std::shared_ptr<TransferStream> stream = hold->stream.lock()) {
    effects.Add([stream = std::move(stream)] { stream->OnReady(); });
  }
  if (entry.size == 0 && entry.way == TransferWay::kIn) {
    entry.is_over = true;
    entries_.erase(entry.id);
    Settle(entry, absl::OkStatus(), effects);
  }
}

void TransferTable::Detach(TransferHold& hold) {
  Effects effects;
  {
    const absl::MutexLock lock(&mu_);
    TransferEntry& entry = *hold.entry;
    if (entry.holder == &hold) {
      entry.holder = nullptr;
      entry.progress = options_.now();
      if (!entry.is_over && !entry.has_command) {
        entry.way.reset();
        if (!entry.is_expected) entries_.erase(entry.id);
      }
    }
  }
  hold.lease.reset();
}

absl::Status TransferTable::CheckChunk(const TransferHold& hold, uint64_t offset,
                                       uint64_t bytes) const {
  const TransferEntry& entry = *hold.entry;
  const uint64_t next = hold.next.value_or(entry.received);
  const absl::string_view wrong = offset > next                            ? "leaves a gap: "
                                  : offset < next && hold.next.has_value() ? "goes back: "
                                  : bytes > entry.size - offset            ? "is too long: "
                                                                           : "";
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("transfer ", entry.id, ": a chunk of ", bytes,
                                                 " bytes at offset ", offset, " ", wrong,
                                                 "the next byte is ", next, " of ", entry.size));
}

absl::StatusOr<bool> TransferTable::Write(TransferHold& hold, uint64_t offset,
                                          absl::Span<const absl::Span<const std::byte>> pieces) {
  TransferEntry& entry = *hold.entry;
  uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  {
    Effects effects;
    const absl::MutexLock lock(&mu_);
    if (hold.ended.has_value()) return *hold.ended;
    if (!hold.is_ready) {
      return absl::FailedPreconditionError(
          absl::StrCat("transfer ", entry.id, ": the command is not there yet"));
    }
    if (absl::Status wrong = CheckChunk(hold, offset, bytes); !wrong.ok()) {
      entry.holder = nullptr;  // It learns it here.
      hold.ended = wrong;
      End(entry, wrong, effects);
      return wrong;
    }
    entry.is_writing = true;
  }
  // Nobody else touches the memory: another stream is not ready, and an end waits.
  std::byte* to = entry.target + offset;
  for (const auto& piece : pieces) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  Effects effects;
  const absl::MutexLock lock(&mu_);
  entry.is_writing = false;
  if (bytes > 0) entry.progress = options_.now();
  hold.next = offset + bytes;
  entry.received = std::max(entry.received, *hold.next);
  if (entry.ends_with.has_value()) {
    Settle(entry, *entry.ends_with, effects);
    return *hold.ended;
  }
  if (entry.received < entry.size) {
    MaybeReady(entry, effects);
    if (hold.ended.has_value()) return *hold.ended;
    return false;
  }
  // Whoever has taken over meanwhile comes too late, and is told that all is there.
  MaybeReady(entry, effects);
  if (!entry.is_over) {
    entry.is_over = true;
    entries_.erase(entry.id);
    Settle(entry, absl::OkStatus(), effects);
  }
  if (hold.ended.has_value()) return *hold.ended;
  return true;
}

uint64_t TransferTable::Received(const TransferHold& hold) const {
  const absl::MutexLock lock(&mu_);
  return hold.entry->received;
}

bool TransferTable::IsComplete(const TransferHold& hold) const {
  const absl::MutexLock lock(&mu_);
  return hold.is_ready && hold.entry->received == hold.entry->size;
}

absl::Span<const std::byte> TransferTable::Bytes(const TransferHold& hold) const {
  const absl::MutexLock lock(&mu_);
  return {hold.entry->data, static_cast<size_t>(hold.entry->size)};
}

std::shared_ptr<const void> TransferTable::MakeLease(const EntryRef& entry) {
  ++entry->num_leases;
  // Keeps the memory by itself: the transfer may end first.
  return {entry->data, [table = shared_from_this(), entry, keep = entry->keep](const void*) {
            table->EndLease(*entry);
          }};
}

void TransferTable::EndLease(TransferEntry& entry) {
  Effects effects;
  const absl::MutexLock lock(&mu_);
  if (--entry.num_leases > 0 || !entry.is_sent) return;
  End(entry, absl::OkStatus(), effects);
}

void TransferTable::Progress(const TransferHold& hold) {
  const absl::MutexLock lock(&mu_);
  if (!hold.ended.has_value()) hold.entry->progress = options_.now();
}

void TransferTable::Complete(TransferHold& hold) {
  {
    const absl::MutexLock lock(&mu_);
    TransferEntry& entry = *hold.entry;
    if (entry.holder != &hold || entry.is_over || !hold.is_ready) return;
    entry.holder = nullptr;
    entry.is_sent = true;
  }
  hold.lease.reset();  // The last one ends the transfer.
}

// ** time **

absl::Status TransferTable::StoodStill(const TransferEntry& entry) const {
  const TransferWay d = entry.way.value_or(TransferWay::kIn);
  const std::string who =
      absl::StrCat("transfer ", entry.id, ": for ", absl::FormatDuration(options_.timeout), " ");
  if (!entry.has_command) {
    return absl::DeadlineExceededError(absl::StrCat(who, "there was no ", CommandOf(d)));
  }
  if (d == TransferWay::kOut) {
    return absl::DeadlineExceededError(absl::StrCat(who, "nothing was fetched by GetData"));
  }
  return absl::DeadlineExceededError(absl::StrCat(who, "nothing came by PutData, after ",
                                                  entry.received, " of ", entry.size, " bytes"));
}

void TransferTable::Expire() {
  Effects effects;
  const absl::MutexLock lock(&mu_);
  const absl::Time latest = options_.now() - options_.timeout;
  std::vector<EntryRef> late;
  for (const auto& [id, entry] : entries_) {
    const bool waits_for_queue = entry->is_expected && !entry->has_command;
    if (waits_for_queue || entry->is_writing || entry->is_sent) continue;
    if (entry->progress < latest) late.push_back(entry);
  }
  for (const EntryRef& entry : late) End(*entry, StoodStill(*entry), effects);
}

int64_t TransferTable::size() const {
  const absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(entries_.size());
}

}  // namespace kiln::server::internal
