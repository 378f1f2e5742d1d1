#include "server/rpc/kiln_service.h"

#include <utility>

#include "server/rpc/find_blobs.h"
#include "server/rpc/get_data.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/put_blob.h"
#include "server/rpc/put_data.h"
#include "server/rpc/run_batch.h"
#include "server/rpc/run_stream.h"

namespace kiln::server {
namespace {

grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

}  // namespace

KilnService::KilnService(SessionManager& sessions, const ServerDescription& description,
                         BlobStore* blobs)
    : sessions_(sessions), description_(description), blobs_(blobs) {}

grpc::ServerUnaryReactor* KilnService::GetServerInfo(grpc::CallbackServerContext* context,
                                                     const pb::GetServerInfoRequest*,
                                                     pb::ServerInfo* response) {
  *response = description_.Info();
  return Reply(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* KilnService::ListFunctions(grpc::CallbackServerContext* context,
                                                     const pb::ListFunctionsRequest*,
                                                     pb::ListFunctionsResponse* response) {
  *response = description_.Functions();
  return Reply(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* KilnService::OpenSession(grpc::CallbackServerContext* context,
                                                   const pb::OpenSessionRequest* request,
                                                   pb::OpenSessionResponse* response) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      sessions_.Open(*request, context->peer());
  if (!session.ok()) return Reply(context, session.status());
  response->mutable_session()->set_id((*session)->id());
  response->mutable_session()->set_token((*session)->token());
  response->set_lease_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds((*session)->lease())));
  return Reply(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* KilnService::CloseSession(grpc::CallbackServerContext* context,
                                                    const pb::SessionRef* request,
                                                    pb::CloseSessionResponse*) {
  const absl::StatusOr<std::shared_ptr<Session>> session = sessions_.Find(*request);
  if (!session.ok()) return Reply(context, session.status());
  return Reply(context,
               sessions_.End((*session)->id(), absl::CancelledError("closed by its client")));
}

grpc::ServerUnaryReactor* KilnService::KeepAlive(grpc::CallbackServerContext* context,
                                                 const pb::SessionRef* request,
                                                 pb::KeepAliveResponse* response) {
  const absl::StatusOr<std::shared_ptr<Session>> session = sessions_.Find(*request);
  if (!session.ok()) return Reply(context, session.status());
  response->set_lease_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds((*session)->lease())));
  return Reply(context, absl::OkStatus());
}

grpc::ServerBidiReactor<pb::RunRequest, pb::RunResponse>* KilnService::Run(
    grpc::CallbackServerContext*) {
  return RunStream::Start(sessions_);
}

grpc::ServerUnaryReactor* KilnService::RunBatch(grpc::CallbackServerContext* context,
                                                const pb::RunBatchRequest* request,
                                                pb::RunBatchResponse* response) {
  return server::RunBatch::Start(*context, *request, *response, sessions_);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* KilnService::PutData(grpc::CallbackServerContext*,
                                                                grpc::ByteBuffer* response) {
  return server::PutData::Start(sessions_, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* KilnService::GetData(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return server::GetData::Start(*context, *request, sessions_);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* KilnService::PutBlob(grpc::CallbackServerContext*,
                                                                grpc::ByteBuffer* response) {
  return server::PutBlob::Start(sessions_, blobs_, response);
}

grpc::ServerUnaryReactor* KilnService::FindBlobs(grpc::CallbackServerContext* context,
                                                 const pb::FindBlobsRequest* request,
                                                 pb::FindBlobsResponse* response) {
  return Reply(context, server::FindBlobs(*request, sessions_, blobs_, *response));
}

}  // namespace kiln::server
