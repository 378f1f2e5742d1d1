#include "server/executor/transfers.h"

#include <utility>

#include "core/dtype/status.h"
#include "server/executor/transfer_table.h"

namespace kiln::server {

Incoming::Incoming(std::unique_ptr<internal::TransferHold> hold) : hold_(std::move(hold)) {}
Incoming::~Incoming() = default;
absl::StatusOr<bool> Incoming::Write(uint64_t offset,
                                     absl::Span<const absl::Span<const std::byte>> pieces) {
  return hold_->table->Write(*hold_, offset, pieces);
}
uint64_t Incoming::received() const { return hold_->table->Received(*hold_); }
bool Incoming::is_complete() const { return hold_->table->IsComplete(*hold_); }

Outgoing::Outgoing(std::unique_ptr<internal::TransferHold> hold) : hold_(std::move(hold)) {}
Outgoing::~Outgoing() = default;
absl::Span<const std::byte> Outgoing::bytes() const { return hold_->table->Bytes(*hold_); }
std::shared_ptr<const void> Outgoing::lease() const { return hold_->lease; }
void Outgoing::Progress() { hold_->table->Progress(*hold_); }
void Outgoing::Complete() { hold_->table->Complete(*hold_); }

Transfers::Transfers(Options options)
    : table_(std::make_shared<internal::TransferTable>(std::move(options))) {}
Transfers::~Transfers() { Cancel(absl::CancelledError("the session has ended")); }

void Transfers::Expect(uint64_t id) { table_->Expect(id); }
absl::Status Transfers::Receive(uint64_t id, absl::Span<std::byte> to, std::shared_ptr<void> keep,
                                Done done) {
  return table_->Start(id, internal::TransferWay::kIn, to, to.data(), std::move(keep),
                       std::move(done));
}
absl::Status Transfers::Send(uint64_t id, absl::Span<const std::byte> from,
                             std::shared_ptr<void> keep, Done done) {
  return table_->Start(id, internal::TransferWay::kOut, from, nullptr, std::move(keep),
                       std::move(done));
}
void Transfers::Fail(uint64_t id, const absl::Status& why) { table_->Fail(id, why); }
void Transfers::Stop(const absl::Status& why) { table_->Stop(why, false); }
void Transfers::Cancel(const absl::Status& why) { table_->Stop(why, true); }

absl::StatusOr<std::unique_ptr<Incoming>> Transfers::Put(
    uint64_t id, const std::shared_ptr<TransferStream>& stream) {
  KILN_ASSIGN_OR_RETURN(auto hold, table_->Attach(id, internal::TransferWay::kIn, stream));
  return std::make_unique<Incoming>(std::move(hold));
}
absl::StatusOr<std::unique_ptr<Outgoing>> Transfers::Get(
    uint64_t id, const std::shared_ptr<TransferStream>& stream) {
  KILN_ASSIGN_OR_RETURN(auto hold, table_->Attach(id, internal::TransferWay::kOut, stream));
  return std::make_unique<Outgoing>(std::move(hold));
}

void Transfers::Expire() { table_->Expire(); }
int64_t Transfers::size() const { return table_->size(); }

}  // namespace kiln::server
