// Bytes in and out of buffers.
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "server/executor/call.h"
#include "server/executor/executor.h"

namespace kiln::server {
namespace {

// Of a blob, read at a time.
constexpr size_t kBlobChunkBytes = 4 << 20;
// Copies of up to so many bytes are done by the thread that begins the command, if the device is idle.
constexpr uint64_t kMaxBytesHere = 64 << 10;

absl::Status CheckPart(uint64_t id, const MemoryRange& range, uint64_t offset, uint64_t size) {
  const auto bytes = static_cast<uint64_t>(range.bytes);
  if (offset <= bytes && size <= bytes - offset) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("offset ", offset, " and size ", size,
                                                 " are not within buffer ", id, " of ", bytes,
                                                 " bytes"));
}

bool IsFull(const MemoryRange& range, uint64_t offset, uint64_t size) {
  return range.is_whole() && offset == 0 && size == static_cast<uint64_t>(range.bytes);
}

absl::StatusOr<std::shared_ptr<runtime::HostWrite>> BeginWrite(runtime::Engine& engine,
                                                               const MemoryRange& range,
                                                               uint64_t offset, uint64_t size) {
  KILN_ASSIGN_OR_RETURN(
      runtime::HostWrite write,
      engine.BeginHostWrite(range.allocation->buffer(), range.offset + static_cast<int64_t>(offset),
                            static_cast<int64_t>(size)));
  return std::make_shared<runtime::HostWrite>(std::move(write));
}

}  // namespace

absl::StatusOr<Executor::Next> Executor::CopyIn(const CallRef& call) {
  pb::CopyIn& command = *call->command.mutable_copy_in();
  absl::StatusOr<MemoryRange> found = memory_.FindWritable(command.buffer());
  if (!found.ok()) {
    if (command.transfer() != 0) transfers_->Fail(command.transfer(), found.status());
    return found.status();
  }
  MemoryRange& range = *found;
  switch (command.source_case()) {
    case pb::CopyIn::kBlob:
      return CopyInBlob(call, std::move(range));
    case pb::CopyIn::kTransfer:
      if (absl::Status status = CopyInTransfer(call, range); !status.ok()) {
        transfers_->Fail(command.transfer(), status);
        return status;
      }
      return Next::kGoOn;
    case pb::CopyIn::kData:
      break;
    default:
      return absl::InvalidArgumentError("one of data, blob and transfer is needed");
  }
  if (static_cast<int64_t>(command.data().size()) > limits_.max_inline_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("data has ", command.data().size(),
                                                   " bytes, over max_inline_bytes, ",
                                                   limits_.max_inline_bytes, ": use a transfer"));
  }
  const uint64_t size = command.data().size();
  if (command.size() != 0 && command.size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("size is ", command.size(), ", but data has ", size, " bytes"));
  }
  KILN_RETURN_IF_ERROR(CheckPart(command.buffer(), range, command.offset(), size));
  const auto data = std::make_shared<const std::string>(std::move(*command.mutable_data()));
  KILN_ASSIGN_OR_RETURN(
      runtime::Dependency done,
      services_.engine->CopyIn(
          *stream_, range.allocation->buffer(),
          range.offset + static_cast<int64_t>(command.offset()),
          {.bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data->data()), size),
           .owner = data},
          {.run_here_if_idle = size <= kMaxBytesHere}));
  call->writes.push_back(range.allocation->BeginWrite(IsFull(range, command.offset(), size)));
  if (services_.observer != nullptr) {
    services_.observer->OnBytes(session_, TransferDirection::kIn, static_cast<int64_t>(size));
  }
  WhenPassed({std::move(done)}, [call](absl::Status s) { call->Done({.status = std::move(s)}); });
  return Next::kGoOn;
}

// The bytes come on their own time; what uses the buffer waits for them, nothing else does.
absl::Status Executor::CopyInTransfer(const CallRef& call, const MemoryRange& range) {
  const pb::CopyIn& command = call->command.copy_in();
  const uint64_t size = command.size();
  KILN_RETURN_IF_ERROR(CheckPart(command.buffer(), range, command.offset(), size));
  const std::shared_ptr<runtime::Buffer> buffer = range.allocation->buffer();
  if (buffer->host() == nullptr) {
    return absl::UnimplementedError(absl::StrCat("transfers to ", buffer->device().name()));
  }
  const bool is_full = IsFull(range, command.offset(), size);
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<runtime::HostWrite> write,
                        BeginWrite(*services_.engine, range, command.offset(), size));
  call->writes.push_back(range.allocation->BeginWrite(is_full));
  transfers_->Expect(command.transfer());
  const uint64_t id = command.transfer();
  const auto finish = [this, call, write, size](absl::Status status) {
    if (status.ok() && services_.observer != nullptr) {
      services_.observer->OnBytes(session_, TransferDirection::kIn, static_cast<int64_t>(size));
    }
    write->End(status);
    call->Done({.status = std::move(status)});
  };
  WhenPassed(write->before(), [this, id, write, buffer, finish](const absl::Status&) {
    // Only the order mattered: what a failed command has left is overwritten.
    const absl::Status begun = transfers_->Receive(id, write->memory(), buffer, finish);
    if (!begun.ok()) finish(begun);
  });
  return absl::OkStatus();
}

absl::StatusOr<Executor::Next> Executor::CopyInBlob(const CallRef& call, MemoryRange range) {
  if (services_.blobs == nullptr) {
    return absl::FailedPreconditionError("this server keeps no blobs: it has no folder for them");
  }
  // Blobs are of principals; until there is authentication, all sessions are one.
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<const Blob> blob,
                        services_.blobs->Open("", call->command.copy_in().blob()));
  const pb::CopyIn& command = call->command.copy_in();
  const auto blob_size = static_cast<uint64_t>(blob->size());
  const uint64_t at = command.blob_offset();
  if (at > blob_size || command.size() > blob_size - at) {
    return absl::InvalidArgumentError(absl::StrCat("blob_offset ", at, " and size ", command.size(),
                                                   " are not within the blob of ", blob_size,
                                                   " bytes"));
  }
  const uint64_t size = command.size() != 0 ? command.size() : blob_size - at;
  KILN_RETURN_IF_ERROR(CheckPart(command.buffer(), range, command.offset(), size));
  const std::shared_ptr<runtime::Buffer> buffer = range.allocation->buffer();
  if (buffer->host() == nullptr) {
    return absl::UnimplementedError(absl::StrCat("blobs to ", buffer->device().name()));
  }
  const bool is_full = IsFull(range, command.offset(), size);
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<runtime::HostWrite> write,
                        BeginWrite(*services_.engine, range, command.offset(), size));
  call->writes.push_back(range.allocation->BeginWrite(is_full));
  WhenPassed(write->before(), [this, call, write, blob, at](const absl::Status&) {
    services_.pool->Post([call, write, blob, at] {
      const absl::Span<std::byte> to = write->memory();
      absl::Status status;
      for (size_t done = 0; status.ok() && done < to.size(); done += kBlobChunkBytes) {
        status = blob->ReadAt(at + done, to.subspan(done, kBlobChunkBytes));
      }
      write->End(status);
      call->Done({.status = std::move(status)});
    });
  });
  return Next::kGoOn;
}

absl::Status Executor::CopyOut(const CallRef& call) {
  const pb::CopyOut& command = call->command.copy_out();
  absl::StatusOr<MemoryRange> range = memory_.FindReadable(command.buffer());
  absl::Status status = range.status();
  if (status.ok()) status = CheckPart(command.buffer(), *range, command.offset(), command.size());
  if (command.transfer() != 0) {
    if (status.ok()) status = CopyOutTransfer(call, *range);
    if (!status.ok()) transfers_->Fail(command.transfer(), status);
    return status;
  }
  if (!status.ok()) return status;
  if (command.size() > static_cast<uint64_t>(limits_.max_inline_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("size is ", command.size(),
                                                   ", over max_inline_bytes, ",
                                                   limits_.max_inline_bytes, ": use a transfer"));
  }
  KILN_ASSIGN_OR_RETURN(
      runtime::CopyOutResult read,
      services_.engine->CopyOut(*stream_, range->allocation->buffer(),
                                range->offset + static_cast<int64_t>(command.offset()),
                                static_cast<int64_t>(command.size()),
                                {.run_here_if_idle = command.size() <= kMaxBytesHere}));
  call->reads.push_back({absl::StrCat("buffer ", command.buffer()), range->allocation->contents()});
  if (services_.observer != nullptr) {
    services_.observer->OnBytes(session_, TransferDirection::kOut,
                                static_cast<int64_t>(command.size()));
  }
  std::vector<runtime::Dependency> done = {read.done};
  WhenPassed(std::move(done), [call, read = std::move(read)](absl::Status s) {
    CommandOutcome outcome = {.status = std::move(s), .has_result = true};
    if (outcome.status.ok()) {
      const absl::Span<const std::byte> bytes = read.data();
      outcome.result.mutable_copy_out()->set_data(bytes.data(), bytes.size());
    }
    call->Done(std::move(outcome));
  });
  return absl::OkStatus();
}

// Its result says that the bytes are ready. The buffer is not written until they have been fetched.
absl::Status Executor::CopyOutTransfer(const CallRef& call, const MemoryRange& range) {
  const pb::CopyOut& command = call->command.copy_out();
  const std::shared_ptr<runtime::Buffer> buffer = range.allocation->buffer();
  if (buffer->host() == nullptr) {
    return absl::UnimplementedError(absl::StrCat("transfers from ", buffer->device().name()));
  }
  KILN_ASSIGN_OR_RETURN(
      runtime::HostRead begun,
      services_.engine->BeginHostRead(buffer, range.offset + static_cast<int64_t>(command.offset()),
                                      static_cast<int64_t>(command.size())));
  const auto read = std::make_shared<runtime::HostRead>(std::move(begun));
  call->reads.push_back({absl::StrCat("buffer ", command.buffer()), range.allocation->contents()});
  transfers_->Expect(command.transfer());
  const uint64_t id = command.transfer();
  WhenPassed(read->before(), [this, call, read, buffer, id](absl::Status status) {
    if (status.ok()) {
      const auto bytes = static_cast<int64_t>(read->memory().size());
      status = transfers_->Send(id, read->memory(), buffer,
                                [observer = services_.observer, session = session_, read,
                                 bytes](const absl::Status& sent) {
                                  if (sent.ok() && observer != nullptr) {
                                    observer->OnBytes(session, TransferDirection::kOut, bytes);
                                  }
                                  read->End(absl::OkStatus());
                                });
    }
    if (!status.ok()) {
      transfers_->Fail(id, status);
      read->End(absl::OkStatus());
    }
    CommandOutcome outcome = {.status = std::move(status), .has_result = true};
    outcome.result.mutable_copy_out();
    call->Done(std::move(outcome));
  });
  return absl::OkStatus();
}

absl::Status Executor::CopyBetween(const CallRef& call) {
  const pb::Transfer& command = call->command.transfer();
  if (!command.peer_ticket().empty()) {
    return absl::UnimplementedError("transfers between two servers are not in this version");
  }
  KILN_ASSIGN_OR_RETURN(const MemoryRange from, memory_.FindReadable(command.from()));
  KILN_ASSIGN_OR_RETURN(const MemoryRange to, memory_.FindWritable(command.to()));
  KILN_RETURN_IF_ERROR(CheckPart(command.from(), from, command.from_offset(), command.size()));
  KILN_RETURN_IF_ERROR(CheckPart(command.to(), to, command.to_offset(), command.size()));
  const auto size = static_cast<int64_t>(command.size());
  const int64_t from_at = from.offset + static_cast<int64_t>(command.from_offset());
  const int64_t to_at = to.offset + static_cast<int64_t>(command.to_offset());
  if (from.allocation == to.allocation && from_at < to_at + size && to_at < from_at + size) {
    return absl::InvalidArgumentError("source and destination overlap");
  }
  KILN_ASSIGN_OR_RETURN(runtime::Dependency done,
                        services_.engine->Copy(*stream_, {to.allocation->buffer(), to_at},
                                               {from.allocation->buffer(), from_at}, size));
  call->reads.push_back({absl::StrCat("buffer ", command.from()), from.allocation->contents()});
  call->writes.push_back(
      to.allocation->BeginWrite(IsFull(to, command.to_offset(), command.size())));
  WhenPassed({std::move(done)}, [call](absl::Status s) { call->Done({.status = std::move(s)}); });
  return absl::OkStatus();
}

}  // namespace kiln::server
