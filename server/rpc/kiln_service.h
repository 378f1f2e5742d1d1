// The service that clients use, on the daemon's sessions.
#pragma once

#include <string>

#include "kiln/v1/kiln.grpc.pb.h"
#include "server/blobs/blob_store.h"
#include "server/server_info.h"
#include "server/session/session_manager.h"

namespace kiln::server {

// The messages of bulk calls are handled as raw bytes.
using KilnServiceBase =
    pb::Kiln::WithCallbackMethod_GetServerInfo<pb::Kiln::WithCallbackMethod_ListFunctions<
        pb::Kiln::WithCallbackMethod_OpenSession<pb::Kiln::WithCallbackMethod_CloseSession<
            pb::Kiln::WithCallbackMethod_KeepAlive<pb::Kiln::WithCallbackMethod_Run<
                pb::Kiln::WithCallbackMethod_RunBatch<pb::Kiln::WithRawCallbackMethod_PutData<
                    pb::Kiln::WithRawCallbackMethod_GetData<pb::Kiln::WithRawCallbackMethod_PutBlob<
                        pb::Kiln::WithCallbackMethod_FindBlobs<pb::Kiln::Service>>>>>>>>>>>;

// Thread-safe. Must outlive its gRPC server.
class KilnService final : public KilnServiceBase {
 public:
  // All are borrowed. Without blobs: null.
  KilnService(SessionManager& sessions, const ServerDescription& description, BlobStore* blobs);

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const pb::GetServerInfoRequest* request,
                                          pb::ServerInfo* response) override;
  grpc::ServerUnaryReactor* ListFunctions(grpc::CallbackServerContext* context,
                                          const pb::ListFunctionsRequest* request,
                                          pb::ListFunctionsResponse* response) override;
  grpc::ServerUnaryReactor* OpenSession(grpc::CallbackServerContext* context,
                                        const pb::OpenSessionRequest* request,
                                        pb::OpenSessionResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* context,
                                         const pb::SessionRef* request,
                                         pb::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* KeepAlive(grpc::CallbackServerContext* context,
                                      const pb::SessionRef* request,
                                      pb::KeepAliveResponse* response) override;
  grpc::ServerBidiReactor<pb::RunRequest, pb::RunResponse>* Run(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* RunBatch(grpc::CallbackServerContext* context,
                                     const pb::RunBatchRequest* request,
                                     pb::RunBatchResponse* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* PutData(grpc::CallbackServerContext* context,
                                                     grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* GetData(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* PutBlob(grpc::CallbackServerContext* context,
                                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* FindBlobs(grpc::CallbackServerContext* context,
                                      const pb::FindBlobsRequest* request,
                                      pb::FindBlobsResponse* response) override;

 private:
  SessionManager& sessions_;
  const ServerDescription& description_;
  BlobStore* const blobs_;
};

}  // namespace kiln::server
