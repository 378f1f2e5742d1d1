// Bytes between the caller's memory and buffers.
#include <algorithm>
#include <cstring>
#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cpp/internal/bulk.h"
#include "client/cpp/internal/channel.h"
#include "client/cpp/internal/core.h"
#include "client/cpp/internal/seen_graphs.h"
#include "client/cpp/session.h"

namespace kiln {
namespace {

using client::BulkCall;
using client::Core;
using client::Reply;

// Ends `call` when the command fails that it belongs to: no stream would be waited for.
Reply::Sink EndsWithCommand(const std::shared_ptr<BulkCall>& call) {
  return [weak = std::weak_ptr<BulkCall>(call)](absl::Status& status, v1::Result&) {
    if (const auto bulk = weak.lock(); bulk != nullptr && !status.ok()) bulk->Cancel(status);
    return true;
  };
}

std::string PutDataHeader(const v1::SessionRef& ref, uint64_t transfer) {
  v1::PutDataRequest request;
  *request.mutable_header()->mutable_session() = ref;
  request.mutable_header()->set_transfer(transfer);
  return request.SerializeAsString();
}

std::string PutBlobHeader(const v1::SessionRef& ref, const std::string& sha256, size_t size,
                          uint64_t offset) {
  v1::PutBlobRequest request;
  v1::PutBlobHeader& header = *request.mutable_header();
  *header.mutable_session() = ref;
  header.set_sha256(sha256);
  header.set_size(size);
  header.set_offset(offset);
  return request.SerializeAsString();
}

// One try; waits.
absl::Status PutBlobFrom(Core& core, absl::Span<const std::byte> bytes, const std::string& sha256,
                         uint64_t offset, const Progress& progress) {
  std::promise<absl::Status> ended;
  client::MakeUpload(
      core.shared_from_this(),
      {.method = "/kiln.v1.Kiln/PutBlob",
       .header =
           [&](uint64_t from) { return PutBlobHeader(core.ref(), sha256, bytes.size(), from); },
       .bytes = bytes,
       .offset = offset,
       .progress = progress,
       .resumes = false,
       .done = [&](absl::Status status,
                   const std::string&) { ended.set_value(std::move(status)); }})
      ->Begin();
  return ended.get_future().get();
}

}  // namespace

Future<void> Session::CopyIn(const Buffer& to, size_t offset, absl::Span<const std::byte> bytes,
                             Progress progress) {
  v1::Command command;
  v1::CopyIn& copy = *command.mutable_copy_in();
  copy.set_buffer(to.id());
  copy.set_offset(offset);
  copy.set_size(bytes.size());
  if (bytes.size() <= core_->limits().max_inline_bytes()) {
    copy.set_data(bytes.data(), bytes.size());
    auto reply = std::make_shared<Reply>();
    core_->Submit(command, reply);
    return Future<void>(std::move(reply));
  }
  const uint64_t transfer = core_->NewId();
  copy.set_transfer(transfer);
  auto reply = std::make_shared<Reply>(2);
  const std::shared_ptr<BulkCall> call = client::MakeUpload(
      core_->shared_from_this(),
      {.method = "/kiln.v1.Kiln/PutData",
       .header = [ref = core_->ref(), transfer](uint64_t) { return PutDataHeader(ref, transfer); },
       .bytes = bytes,
       .progress = std::move(progress),
       .done = [reply](absl::Status status, const std::string&) { reply->FinishStream(status); }});
  reply->set_sink(EndsWithCommand(call));
  core_->Submit(command, reply);
  call->Begin();
  return Future<void>(std::move(reply));
}

Future<void> Session::CopyInBlob(const Buffer& to, size_t offset, const std::string& sha256,
                                 size_t blob_offset, size_t bytes) {
  v1::Command command;
  v1::CopyIn& copy = *command.mutable_copy_in();
  copy.set_buffer(to.id());
  copy.set_offset(offset);
  copy.set_size(bytes);
  copy.set_blob(sha256);
  copy.set_blob_offset(blob_offset);
  auto reply = std::make_shared<Reply>();
  core_->Submit(command, reply);
  return Future<void>(std::move(reply));
}

Future<void> Session::CopyOut(const Buffer& from, size_t offset, absl::Span<std::byte> bytes,
                              Progress progress) {
  v1::Command command;
  v1::CopyOut& copy = *command.mutable_copy_out();
  copy.set_buffer(from.id());
  copy.set_offset(offset);
  copy.set_size(bytes.size());
  if (bytes.size() <= core_->limits().max_inline_bytes()) {
    auto reply = std::make_shared<Reply>();
    reply->set_sink([bytes](absl::Status& status, v1::Result& result) {
      if (!status.ok()) return true;
      const std::string& data = result.copy_out().data();
      if (data.size() != bytes.size()) {
        status = absl::DataLossError(
            absl::StrCat("the server has sent ", data.size(), " bytes of ", bytes.size()));
      } else if (!data.empty()) {
        std::memcpy(bytes.data(), data.data(), data.size());
      }
      return true;
    });
    core_->Submit(command, reply);
    return Future<void>(std::move(reply));
  }
  const uint64_t transfer = core_->NewId();
  copy.set_transfer(transfer);
  auto reply = std::make_shared<Reply>(2);
  const std::shared_ptr<BulkCall> call = client::MakeDownload(
      core_->shared_from_this(),
      {.transfer = transfer,
       .bytes = bytes,
       .progress = std::move(progress),
       .done = [reply](const absl::Status& status) { reply->FinishStream(status); }});
  reply->set_sink(EndsWithCommand(call));
  core_->Submit(command, reply);
  call->Begin();
  return Future<void>(std::move(reply));
}

absl::StatusOr<std::string> Session::PutBlob(absl::Span<const std::byte> bytes, Progress progress) {
  const std::string sha256 =
      client::Sha256(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  for (int attempt = 0;; ++attempt) {
    const absl::StatusOr<v1::FindBlobsResponse> found = FindBlobs({sha256});
    absl::Status status = found.status();
    if (found.ok() && found->blobs_size() == 1) {
      if (found->blobs(0).is_complete()) return sha256;
      const uint64_t offset = std::min<uint64_t>(found->blobs(0).received(), bytes.size());
      status = PutBlobFrom(*core_, bytes, sha256, offset, progress);
    }
    if (status.ok()) return sha256;
    // A broken connection: what has arrived is kept.
    const bool again = client::IsConnectionFailure(
        grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string()));
    if (!again || attempt == 20 || !core_->status().ok()) return status;
    absl::SleepFor(absl::Milliseconds(50));
  }
}

}  // namespace kiln
