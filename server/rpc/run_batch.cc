#include "server/rpc/run_batch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "server/rpc/grpc_status.h"

namespace kiln::server {
namespace {
// After which a client whose queue is full may try again.
constexpr int kRetryAfterMs = 20;
}  // namespace

RunBatch* RunBatch::Start(grpc::CallbackServerContext& context, const pb::RunBatchRequest& request,
                          pb::RunBatchResponse& response, SessionManager& sessions) {
  const std::shared_ptr<RunBatch> call(new RunBatch(response));  // NOLINT: a private constructor.
  call->self_ = call;
  absl::Status status = call->Begin(context, request, sessions);
  if (!status.ok()) call->End(status);
  return call.get();
}

absl::Status RunBatch::Begin(grpc::CallbackServerContext& context,
                             const pb::RunBatchRequest& request, SessionManager& sessions) {
  KILN_ASSIGN_OR_RETURN(session_, sessions.Find(request.session()));
  session_->Received(request.received_seq());
  // Cancelling is what makes room.
  const auto is_cancel = [](const pb::Command& command) { return command.has_cancel(); };
  if (session_->is_full() &&
      !std::all_of(request.commands().begin(), request.commands().end(), is_cancel)) {
    context.AddTrailingMetadata("retry-after-ms", absl::StrCat(kRetryAfterMs));
    return absl::ResourceExhaustedError(absl::StrCat(
        "the session has as much queued as it may (max_queued_commands, max_queued_bytes, "
        "max_queued_device_ms); try again in ",
        kRetryAfterMs, " ms"));
  }
  if (request.commands().empty()) {
    End(absl::OkStatus());
    return absl::OkStatus();
  }
  first_seq_ = request.commands(0).seq();
  last_seq_ = request.commands(request.commands_size() - 1).seq();
  KILN_RETURN_IF_ERROR(session_->Watch(shared_from_this()));
  google::protobuf::RepeatedPtrField<pb::Command> commands = request.commands();
  KILN_RETURN_IF_ERROR(session_->Post(commands));
  OnProgress();
  return absl::OkStatus();
}

void RunBatch::OnProgress() {
  {
    absl::MutexLock lock(&mu_);
    if (has_ended_) return;
    response_.Clear();
    const Session::Progress progress =
        session_->CopyResults(first_seq_ - 1, last_seq_, std::numeric_limits<int64_t>::max(),
                              *response_.mutable_results());
    if (progress.acked_seq < last_seq_) return;
    response_.set_acked_seq(progress.acked_seq);
    has_ended_ = true;
  }
  Finish(grpc::Status::OK);
}

void RunBatch::OnCancel() { End(absl::CancelledError("the connection is gone")); }

void RunBatch::OnDetached(const absl::Status& why) { End(why); }

void RunBatch::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    if (has_ended_) return;
    has_ended_ = true;
  }
  Finish(ToGrpc(status));
}

void RunBatch::OnDone() {
  if (session_ != nullptr) session_->Detach(this);
  self_.reset();  // May destroy this.
}

}  // namespace kiln::server
