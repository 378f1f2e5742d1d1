#include "server/rpc/admin_service.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "server/rpc/grpc_status.h"

namespace kiln::server {
namespace {

constexpr absl::Duration kDefaultProfile = absl::Seconds(10);
constexpr absl::Duration kMaxProfile = absl::Minutes(10);
constexpr absl::Duration kProfileStep = absl::Milliseconds(100);
// At a time; each occupies a thread.
constexpr int kMaxProfiles = 4;

grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

// Of this process; 0 if the system does not tell.
int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// One profile that is taken. Deletes itself when gRPC is done with it.
class ProfileStream final : public grpc::ServerWriteReactor<pb::ProfileEvents> {
 public:
  ProfileStream(std::shared_ptr<ProfileFeed> feed, absl::Duration duration, WorkPool& pool)
      : feed_(std::move(feed)), until_(absl::Now() + duration), pool_(pool) {
    Next();
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      Next();
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnCancel() override { is_cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void Next() {
    pool_.Post([this] {
      do {
        const absl::Time now = absl::Now();
        if (now >= until_ || is_cancelled_) return Finish(grpc::Status::OK);
        message_ = feed_->Take(std::min(until_, now + kProfileStep));
      } while (message_.events().empty());
      StartWrite(&message_);
    });
  }

  const std::shared_ptr<ProfileFeed> feed_;
  const absl::Time until_;
  WorkPool& pool_;
  std::atomic<bool> is_cancelled_ = false;
  pb::ProfileEvents message_;
};

}  // namespace

AdminService::AdminService(AdminSources sources)
    : sources_(std::move(sources)), pool_({.num_threads = kMaxProfiles}) {}

AdminService::~AdminService() = default;

grpc::ServerUnaryReactor* AdminService::ListSessions(grpc::CallbackServerContext* context,
                                                     const pb::ListSessionsRequest*,
                                                     pb::ListSessionsResponse* response) {
  for (const auto& session : sources_.sessions->List()) {
    *response->add_sessions() = session->Describe();
  }
  return Reply(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* AdminService::EndSession(grpc::CallbackServerContext* context,
                                                   const pb::EndSessionRequest* request,
                                                   pb::EndSessionResponse*) {
  return Reply(context,
               sources_.sessions->End(request->id(), absl::CancelledError("ended by an operator")));
}

grpc::ServerUnaryReactor* AdminService::GetStats(grpc::CallbackServerContext* context,
                                                 const pb::GetStatsRequest*, pb::Stats* stats) {
  const auto set = [](int64_t n) { return static_cast<uint64_t>(n); };
  stats->set_uptime_ms(set(absl::ToInt64Milliseconds(absl::Now() - started_)));
  for (runtime::Device* device : sources_.description->devices()) {
    pb::DeviceStats& d = *stats->add_devices();
    d.set_name(device->name());
    d.set_memory_bytes(set(device->memory().Limits().total_bytes));
    d.set_used_bytes(set(device->memory().used_bytes()));
    d.set_busy_us(set(device->busy_ns() / 1000));
  }
  stats->set_sessions(sources_.sessions->List().size());
  const TotalCounts totals = sources_.metrics->totals();
  stats->set_commands(set(totals.commands));
  stats->set_failed_commands(set(totals.failed_commands));
  stats->set_bytes_in(set(totals.bytes_in));
  stats->set_bytes_out(set(totals.bytes_out));
  stats->set_graph_hits(set(totals.graph_hits));
  const runtime::Engine::Counters engine = sources_.engine->counters();
  stats->set_graphs_scheduled(set(engine.plans_built));
  stats->set_kernels_compiled(set(engine.kernels.compiled));
  stats->set_kernel_disk_hits(set(engine.store.hits));
  stats->set_kernel_memory_hits(set(engine.kernels.asked - engine.kernels.loaded));
  stats->set_cache_bytes(set(engine.store.bytes));
  if (sources_.blobs != nullptr) stats->set_blob_bytes(set(sources_.blobs->bytes()));
  stats->set_resident_bytes(set(ResidentBytes()));
  stats->set_is_draining(sources_.sessions->is_draining());
  stats->set_cache_status(std::string(sources_.engine->cache_status().message()));
  return Reply(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* AdminService::Drain(grpc::CallbackServerContext* context,
                                              const pb::DrainRequest* request, pb::DrainResponse*) {
  const auto ms = static_cast<int64_t>(std::min<uint64_t>(request->deadline_ms(), 1'000'000'000));
  sources_.drain(absl::Milliseconds(ms));
  return Reply(context, absl::OkStatus());
}

grpc::ServerWriteReactor<pb::ProfileEvents>* AdminService::Profile(
    grpc::CallbackServerContext*, const pb::ProfileRequest* request) {
  absl::Duration duration = kDefaultProfile;
  if (request->duration_ms() != 0) {
    duration = std::min(kMaxProfile, absl::Milliseconds(static_cast<int64_t>(
                                         std::min<uint64_t>(request->duration_ms(), 1'000'000))));
  }
  return new ProfileStream(sources_.profiler->Open(), duration, pool_);  // NOLINT: deletes itself.
}

}  // namespace kiln::server
