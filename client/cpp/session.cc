#include "client/cpp/session.h"

#include <utility>

#include "client/cpp/internal/channel.h"
#include "client/cpp/internal/core.h"

namespace kiln {
namespace {

using client::Core;
using client::Reply;

template <typename T>
absl::StatusOr<T> Missing() {
  return absl::InternalError("the server has sent no result of the kind of the command");
}

absl::StatusOr<std::string> TicketOfEvent(const v1::Result& result) {
  if (!result.has_event_record()) return Missing<std::string>();
  return result.event_record().ticket();
}

absl::StatusOr<std::string> TicketOfShare(const v1::Result& result) {
  if (!result.has_share()) return Missing<std::string>();
  return result.share().ticket();
}

std::shared_ptr<Reply> SubmitFor(Core& core, const v1::Command& command) {
  auto reply = std::make_shared<Reply>();
  core.Submit(command, reply);
  return reply;
}

template <typename Response, typename Call>
absl::StatusOr<Response> CallServer(Core& core, Call call) {
  const std::shared_ptr<grpc::Channel> channel = core.channel();
  if (channel == nullptr) return core.status();
  const std::unique_ptr<v1::Kiln::Stub> stub = v1::Kiln::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  Response response;
  const grpc::Status status = call(*stub, context, response);
  if (!status.ok()) return client::FromGrpc(status);
  return response;
}

}  // namespace

namespace client {

BufferState::~BufferState() {
  if (id == 0) return;
  v1::Command command;
  command.mutable_buffer_free()->set_buffer(id);
  core->Submit(command, nullptr);
}

CompiledState::~CompiledState() {
  v1::Command command;
  command.mutable_graph_free()->set_graph(id);
  core->Submit(command, nullptr);
}

}  // namespace client

absl::StatusOr<Session> Session::Connect(const std::string& address,
                                         const SessionOptions& options) {
  absl::StatusOr<std::shared_ptr<Core>> core = Core::Connect(address, options);
  if (!core.ok()) return core.status();
  return Session(*std::move(core));
}

// ** buffers **

Buffer Session::Alloc(size_t bytes, const std::string& device) {
  auto state = std::make_shared<client::BufferState>();
  state->core = core_;
  state->id = core_->NewId();
  state->bytes = bytes;
  v1::Command command;
  v1::BufferAlloc& alloc = *command.mutable_buffer_alloc();
  alloc.set_buffer(state->id);
  alloc.set_size(bytes);
  alloc.set_device(device);
  state->made = SubmitFor(*core_, command);
  return Buffer(std::move(state));
}

Buffer Session::NewBuffer() {
  auto state = std::make_shared<client::BufferState>();
  state->core = core_;
  state->id = core_->NewId();
  return Buffer(std::move(state));
}

Buffer Session::View(const Buffer& of, size_t offset, size_t bytes) {
  auto state = std::make_shared<client::BufferState>();
  state->core = core_;
  state->id = core_->NewId();
  state->bytes = bytes;
  v1::Command command;
  v1::BufferView& view = *command.mutable_buffer_view();
  view.set_buffer(state->id);
  view.set_of(of.id());
  view.set_offset(offset);
  view.set_size(bytes);
  state->made = SubmitFor(*core_, command);
  return Buffer(std::move(state));
}

Future<void> Session::Transfer(const Buffer& from, size_t from_offset, const Buffer& to,
                               size_t to_offset, size_t bytes) {
  v1::Command command;
  v1::Transfer& transfer = *command.mutable_transfer();
  transfer.set_from(from.id());
  transfer.set_from_offset(from_offset);
  transfer.set_to(to.id());
  transfer.set_to_offset(to_offset);
  transfer.set_size(bytes);
  return Future<void>(SubmitFor(*core_, command));
}

// ** order **

Future<void> Session::Sync() {
  v1::Command command;
  command.mutable_sync();
  return Future<void>(SubmitFor(*core_, command));
}

Future<void> Session::Cancel(uint64_t up_to) {
  v1::Command command;
  command.mutable_cancel()->set_up_to(up_to);
  return Future<void>(SubmitFor(*core_, command));
}

uint64_t Session::NewEvent() { return core_->NewId(); }

Future<std::string> Session::RecordEvent(uint64_t event) {
  v1::Command command;
  command.mutable_event_record()->set_event(event);
  return Future<std::string>(SubmitFor(*core_, command), TicketOfEvent);
}

Future<void> Session::WaitEvent(const std::string& ticket) {
  v1::Command command;
  command.mutable_event_wait()->set_ticket(ticket);
  return Future<void>(SubmitFor(*core_, command));
}

// ** sharing **

Future<std::string> Session::Share(const Buffer& buffer, v1::ShareMode mode) {
  v1::Command command;
  command.mutable_share()->set_buffer(buffer.id());
  command.mutable_share()->set_mode(mode);
  return Future<std::string>(SubmitFor(*core_, command), TicketOfShare);
}

absl::StatusOr<Buffer> Session::Attach(const std::string& ticket) {
  auto state = std::make_shared<client::BufferState>();
  state->core = core_;
  state->id = core_->NewId();
  v1::Command command;
  command.mutable_attach()->set_buffer(state->id);
  command.mutable_attach()->set_ticket(ticket);
  state->made = SubmitFor(*core_, command);
  state->made->Wait();
  if (!state->made->status().ok()) return state->made->status();
  if (!state->made->result().has_attach()) return Missing<Buffer>();
  state->bytes = state->made->result().attach().size();
  return Buffer(std::move(state));
}

// ** the server **

const v1::ServerInfo& Session::server_info() const { return core_->info(); }

absl::StatusOr<v1::ServerInfo> Session::FetchServerInfo() {
  return CallServer<v1::ServerInfo>(*core_, [](auto& stub, auto& context, auto& response) {
    return stub.GetServerInfo(&context, {}, &response);
  });
}

absl::StatusOr<v1::ListFunctionsResponse> Session::ListFunctions() {
  return CallServer<v1::ListFunctionsResponse>(*core_,
                                               [](auto& stub, auto& context, auto& response) {
                                                 return stub.ListFunctions(&context, {}, &response);
                                               });
}

absl::StatusOr<v1::FindBlobsResponse> Session::FindBlobs(absl::Span<const std::string> sha256) {
  v1::FindBlobsRequest request;
  *request.mutable_session() = core_->ref();
  for (const std::string& hash : sha256) request.add_sha256(hash);
  return CallServer<v1::FindBlobsResponse>(*core_,
                                           [&request](auto& stub, auto& context, auto& response) {
                                             return stub.FindBlobs(&context, request, &response);
                                           });
}

// ** the end **

absl::Status Session::Close() { return core_->Close(); }
absl::Status Session::status() const { return core_->status(); }

// ** any command **

uint64_t Session::NewId() { return core_->NewId(); }

Future<v1::Result> Session::Submit(v1::Command command) {
  command.clear_seq();
  return Future<v1::Result>(
      SubmitFor(*core_, command),
      [](const v1::Result& result) -> absl::StatusOr<v1::Result> { return result; });
}

const v1::SessionRef& Session::ref() const { return core_->ref(); }

}  // namespace kiln
