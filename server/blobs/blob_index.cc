#include "server/blobs/blob_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/dtype/status.h"

namespace kiln::server::internal {
namespace {

namespace fs = std::filesystem;

// <hash> is a blob; <hash>.<number>.part an upload that is not complete; trash.<number> what is to be
// removed.
constexpr char kPartialSuffix[] = ".part", kTrashPrefix[] = "trash.";
// Even the smallest costs an inode and a place in memory.
constexpr int64_t kLeastCharge = 4096;

bool IsHex(absl::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c)) &&
                  !absl::ascii_isupper(static_cast<unsigned char>(c));
         });
}

std::string Hex(absl::string_view bytes) { return absl::BytesToHexString(bytes); }

int64_t UsedAt(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace

BlobIndex::BlobIndex(BlobStore::Options options, int lock_fd)
    : options_(std::move(options)), lock_fd_(lock_fd) {}

BlobIndex::~BlobIndex() { close(lock_fd_); }

std::string BlobIndex::OwnerOf(absl::string_view principal) {
  Sha256 hash;
  hash.Update(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(principal.data()), principal.size()));
  return Hex(hash.Finish()).substr(0, 32);
}

std::string BlobIndex::PathOf(const std::string& owner, const std::string& sha256) const {
  return absl::StrCat(options_.folder, "/", owner, "/", Hex(sha256));
}

absl::Status BlobIndex::MakeFolderOf(const std::string& owner) const {
  if (mkdir(absl::StrCat(options_.folder, "/", owner).c_str(), 0700) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return DiskError(errno, "making a folder");
}

// ** what is on disk **

absl::Status BlobIndex::Scan() {
  const absl::MutexLock lock(&mu_);
  std::error_code error;
  for (fs::directory_iterator it(options_.folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (IsHex(name, 32)) ScanFolder(name);
  }
  if (error) return absl::FailedPreconditionError("the folder can't be read");
  for (auto& [owner, account] : accounts_) {
    KILN_RETURN_IF_ERROR(MakeRoom(owner, account, 0));
  }
  return absl::OkStatus();
}

void BlobIndex::ScanFolder(const std::string& owner) {
  Account& account = accounts_[owner];
  std::error_code error;
  for (fs::directory_iterator it(absl::StrCat(options_.folder, "/", owner), error), end;
       !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, kTrashPrefix)) trash_.push_back(path);
    const bool is_partial = absl::EndsWith(name, kPartialSuffix);
    const std::string hex = is_partial ? name.substr(0, name.find('.')) : name;
    struct stat info;
    if (!IsHex(hex, 64) || lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string sha256 = absl::HexStringToBytes(hex);
    const auto bytes = static_cast<uint64_t>(info.st_size);
    Item& item = account.items[sha256];
    // Of several files the complete one counts, or the longest.
    if (is_partial &&
        (item.check != nullptr || (item.partial != nullptr && item.partial->received >= bytes))) {
      trash_.push_back(path);
      continue;
    }
    if (item.partial != nullptr) trash_.push_back(item.partial->path);
    item.partial = nullptr;
    item.size = bytes;
    if (is_partial) {
      item.partial = std::make_shared<PartialBlob>(owner, sha256, std::nullopt, path);
      item.partial->received = bytes;
    } else {
      item.check = std::make_shared<BlobCheck>();
    }
    account.by_age.erase({item.last_used, sha256});
    item.last_used = UsedAt(info);
    now_ = std::max(now_, item.last_used);
    Recount(account, sha256, false);
  }
}

// ** accounts **

int64_t BlobIndex::Now() {
  now_ = std::max(now_ + 1, absl::GetCurrentTimeNanos());
  return now_;
}

BlobIndex::Item* BlobIndex::FindItem(const std::string& owner, const std::string& sha256) {
  const auto account = accounts_.find(owner);
  if (account == accounts_.end()) return nullptr;
  const auto item = account->second.items.find(sha256);
  return item == account->second.items.end() ? nullptr : &item->second;
}

void BlobIndex::Recount(Account& account, const std::string& sha256, bool is_used) {
  Item& item = account.items[sha256];
  account.charged -= item.charged;
  const bool is_stopped = item.partial != nullptr && item.num_uploads == 0;
  item.charged = std::max(
      kLeastCharge, static_cast<int64_t>(is_stopped ? item.partial->received.load() : item.size));
  account.charged += item.charged;
  account.by_age.erase({item.last_used, sha256});
  if (is_used) item.last_used = Now();
  if (item.num_uploads == 0) account.by_age.emplace(item.last_used, sha256);
}

void BlobIndex::Erase(const std::string& owner, Account& account, const std::string& sha256) {
  const auto it = account.items.find(sha256);
  if (it == account.items.end()) return;
  if (it->second.partial != nullptr) {
    trash_.push_back(it->second.partial->path);
  } else {
    // Its name is free at once, for who puts it again.
    std::string trash = absl::StrCat(options_.folder, "/", owner, "/", kTrashPrefix, Now());
    const std::string path = PathOf(owner, sha256);
    trash_.push_back(rename(path.c_str(), trash.c_str()) == 0 ? std::move(trash) : path);
  }
  account.charged -= it->second.charged;
  account.num_uploads -= it->second.num_uploads;
  account.by_age.erase({it->second.last_used, sha256});
  account.items.erase(it);
}

absl::Status BlobIndex::MakeRoom(const std::string& owner, Account& account, int64_t bytes) {
  while (account.charged + bytes > options_.max_principal_bytes) {
    if (account.by_age.empty()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "blobs under way need ", account.charged, " bytes, and ", bytes,
          " more are over the limit max_principal_blob_bytes, ", options_.max_principal_bytes));
    }
    Erase(owner, account, std::string(account.by_age.begin()->second));
  }
  return absl::OkStatus();
}

std::optional<BlobIndex::Complete> BlobIndex::Use(const std::string& owner,
                                                  const std::string& sha256) {
  const absl::MutexLock lock(&mu_);
  const Item* const item = FindItem(owner, sha256);
  if (item == nullptr || item->partial != nullptr) return std::nullopt;
  Recount(accounts_[owner], sha256, true);
  return Complete{item->check, item->size};
}

BlobStore::State BlobIndex::Find(const std::string& owner, const std::string& sha256) const {
  const absl::MutexLock lock(&mu_);
  const auto account = accounts_.find(owner);
  if (account == accounts_.end()) return {};
  const auto item = account->second.items.find(sha256);
  if (item == account->second.items.end()) return {};
  if (item->second.partial == nullptr) return {.is_complete = true};
  return {.received = item->second.partial->received.load()};
}

int64_t BlobIndex::bytes() const {
  const absl::MutexLock lock(&mu_);
  int64_t bytes = 0;
  for (const auto& [owner, account] : accounts_) bytes += account.charged;
  return bytes;
}

// ** uploads **

absl::StatusOr<std::shared_ptr<PartialBlob>> BlobIndex::BeginUpload(const std::string& owner,
                                                                    const std::string& sha256,
                                                                    uint64_t size) {
  const absl::MutexLock lock(&mu_);
  Account& account = accounts_[owner];
  if (const auto it = account.items.find(sha256); it != account.items.end()) {
    if (it->second.partial == nullptr) {
      Recount(account, sha256, true);
      return nullptr;
    }
    // What was received of a blob that was said to have another size is worth nothing.
    const PartialBlob& before = *it->second.partial;
    if (before.size.has_value() ? before.size != size : before.received > size) {
      Erase(owner, account, sha256);
    }
  }
  if (account.num_uploads >= options_.max_uploads) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than the limit of ", options_.max_uploads, " uploads at a time"));
  }
  Item& item = account.items[sha256];
  if (item.partial == nullptr || !item.partial->size.has_value()) {
    const auto found = std::move(item.partial);
    std::string path = found != nullptr
                           ? found->path
                           : absl::StrCat(PathOf(owner, sha256), ".", Now(), kPartialSuffix);
    item.partial = std::make_shared<PartialBlob>(owner, sha256, size, std::move(path));
    if (found != nullptr) item.partial->received = found->received.load();
  }
  item.size = size;
  ++item.num_uploads;
  ++account.num_uploads;
  Recount(account, sha256, true);
  const std::shared_ptr<PartialBlob> partial = item.partial;
  const absl::Status room = MakeRoom(owner, account, 0);
  if (room.ok()) return partial;
  --item.num_uploads;
  --account.num_uploads;
  Recount(account, sha256, false);
  if (partial->received == 0) Erase(owner, account, sha256);
  return room;
}

void BlobIndex::EndUpload(const PartialBlob& partial) {
  const absl::MutexLock lock(&mu_);
  Item* const item = FindItem(partial.owner, partial.sha256);
  if (item == nullptr || item->partial.get() != &partial) return;
  --item->num_uploads;
  Account& account = accounts_[partial.owner];
  --account.num_uploads;
  if (item->num_uploads == 0 && partial.received == 0) {
    Erase(partial.owner, account, partial.sha256);
  } else {
    Recount(account, partial.sha256, true);
  }
}

absl::Status BlobIndex::Publish(const PartialBlob& partial) {
  const absl::MutexLock lock(&mu_);
  Item* const item = FindItem(partial.owner, partial.sha256);
  if (item == nullptr || item->partial.get() != &partial) {
    return absl::AbortedError("the upload was dropped");
  }
  const std::string path = PathOf(partial.owner, partial.sha256);
  if (rename(partial.path.c_str(), path.c_str()) != 0) return DiskError(errno, "naming a blob");
  Account& account = accounts_[partial.owner];
  account.num_uploads -= std::exchange(item->num_uploads, 0);
  item->partial = nullptr;
  item->check = std::make_shared<BlobCheck>();
  {
    const absl::MutexLock check(&item->check->mu);
    item->check->is_verified = true;
  }
  Recount(account, partial.sha256, true);
  return absl::OkStatus();
}

void BlobIndex::Drop(const PartialBlob& partial) {
  const absl::MutexLock lock(&mu_);
  const Item* const item = FindItem(partial.owner, partial.sha256);
  if (item != nullptr && item->partial.get() == &partial) {
    Erase(partial.owner, accounts_[partial.owner], partial.sha256);
  }
}

void BlobIndex::Drop(const std::string& owner, const std::string& sha256, const BlobCheck& check) {
  const absl::MutexLock lock(&mu_);
  const Item* const item = FindItem(owner, sha256);
  if (item != nullptr && item->check.get() == &check) Erase(owner, accounts_[owner], sha256);
}

void BlobIndex::Sweep() {
  std::vector<std::string> trash;
  {
    const absl::MutexLock lock(&mu_);
    trash.swap(trash_);
  }
  for (const std::string& path : trash) unlink(path.c_str());
}

}  // namespace kiln::server::internal
