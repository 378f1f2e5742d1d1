#include "server/daemon.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/runtime/engine.h"
#include "server/blobs/blob_store.h"
#include "server/executor/executor.h"
#include "server/ops/listen.h"
#include "server/ops/log.h"
#include "server/ops/metrics.h"
#include "server/ops/profile.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/kiln_service.h"
#include "server/server_info.h"
#include "server/session/session_manager.h"

namespace kiln::server {
namespace {

// Connections whose peer does not answer are closed after the sum of both.
constexpr int kKeepAliveMs = 20'000, kKeepAliveTimeoutMs = 10'000;
// Added to the niceness of threads that compile.
constexpr int kCompileNice = 5;
// Of gRPC's own buffers.
constexpr size_t kMaxGrpcBytes = size_t{2} << 30;
// How long calls may go on once all sessions have ended.
constexpr absl::Duration kGrace = absl::Milliseconds(200);

class GrpcDaemon final : public Daemon {
 public:
  GrpcDaemon(runtime::Registry& registry, DaemonOptions options)
      : registry_(registry),
        options_(std::move(options)),
        // Behind whatever serves commands.
        pool_({.num_threads = std::max(2, options_.compile_threads), .nice = kCompileNice}) {}

  ~GrpcDaemon() override {
    if (server_ != nullptr) Shutdown(absl::Now());
    sessions_.reset();
  }

  absl::Status Init() {
    if (options_.listen.empty())
      return absl::InvalidArgumentError("there is no address to listen on");
    for (const std::string& address : options_.listen) {
      const absl::Status local = CheckLocal(address);
      if (absl::IsPermissionDenied(local) && options_.insecure) continue;
      KILN_RETURN_IF_ERROR(local);
    }
    std::vector<runtime::Device*> devices;
    for (const std::string& name : options_.devices) {
      KILN_ASSIGN_OR_RETURN(devices.emplace_back(), registry_.Get(name));
    }
    if (devices.empty()) return absl::InvalidArgumentError("there is no device");
    KILN_RETURN_IF_ERROR(MakeEngine(devices.front()->name()));
    const std::string default_device = devices.front()->name();
    OpenBlobs();
    metrics_ = Metrics::Make(*engine_, devices);
    if (!options_.metrics_address.empty()) {
      KILN_RETURN_IF_ERROR(metrics_->Serve(options_.metrics_address));
    }
    profiler_.emplace(*engine_);
    observers_.Add(metrics_.get());
    observers_.Add(&*profiler_);
    observers_.Add(&log_);
    description_.emplace(std::move(devices), options_.limits, /*shared_memory_socket=*/"");
    sessions_.emplace(ExecutorServices{.engine = engine_.get(),
                                       .registry = &registry_,
                                       .default_device = default_device,
                                       .pool = &pool_,
                                       .shares = &shares_,
                                       .events = &events_,
                                       .blobs = blobs_.get(),
                                       .observer = &observers_},
                      options_.limits);
    service_.emplace(*sessions_, *description_, blobs_.get());
    admin_.emplace(AdminSources{.sessions = &*sessions_,
                                .description = &*description_,
                                .engine = engine_.get(),
                                .metrics = metrics_.get(),
                                .profiler = &*profiler_,
                                .blobs = blobs_.get(),
                                .drain = [this](absl::Duration d) { DrainRequested(d); }});
    return Listen();
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }
  absl::Status cache_status() const override { return engine_->cache_status(); }
  const absl::Status& blob_status() const override { return blob_status_; }

  void OnDrainRequested(std::function<void(absl::Duration)> callback) override {
    absl::MutexLock lock(&mu_);
    on_drain_ = std::move(callback);
  }

  int Shutdown(absl::Time deadline) override {
    server_->GetHealthCheckService()->SetServingStatus(false);
    sessions_->Drain();
    sessions_->AwaitNoSessions(deadline);
    const int left = static_cast<int>(sessions_->List().size());
    sessions_->EndAll(absl::UnavailableError("the server ends"));
    server_->Shutdown(absl::ToChronoTime(absl::Now() + kGrace));
    server_ = nullptr;
    locks_.clear();
    return left;
  }

 private:
  void DrainRequested(absl::Duration deadline) {
    sessions_->Drain();
    std::function<void(absl::Duration)> callback;
    {
      absl::MutexLock lock(&mu_);
      callback = std::exchange(on_drain_, nullptr);
    }
    if (callback) callback(deadline);
  }

  // Its threads compile: they, unlike those of the devices, which there are already, stand back when
  // the cores are busy. They have the niceness of the thread that makes them.
  absl::Status MakeEngine(const std::string& default_device) {
    absl::StatusOr<std::unique_ptr<runtime::Engine>> engine = absl::UnknownError("not made");
    std::thread([&] {
      (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kCompileNice);
      engine = runtime::Engine::Create(registry_, {.default_device = default_device,
                                                   .cache_folder = options_.cache_folder,
                                                   .max_cache_bytes = options_.max_cache_bytes,
                                                   .compile_threads = options_.compile_threads});
    }).join();
    KILN_RETURN_IF_ERROR(engine.status());
    engine_ = *std::move(engine);
    return absl::OkStatus();
  }

  // A daemon without blobs still serves everything else.
  void OpenBlobs() {
    if (!options_.blob_folder.has_value()) return;
    auto blobs =
        BlobStore::Create({.folder = *options_.blob_folder,
                           .max_blob_bytes = options_.limits.max_blob_bytes,
                           .max_principal_bytes = options_.limits.max_principal_blob_bytes});
    blob_status_ = blobs.status();
    if (blobs.ok()) blobs_ = *std::move(blobs);
  }

  absl::Status Listen() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    // Else a second daemon on a port starts without an error and gets half of the connections.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options_.limits.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    builder.SetResourceQuota(grpc::ResourceQuota("kilnd").Resize(kMaxGrpcBytes));
    std::vector<int> ports(options_.listen.size(), 0);
    for (size_t i = 0; i < options_.listen.size(); ++i) {
      const std::string& address = options_.listen[i];
      if (const std::string path(UnixPath(address)); !path.empty()) {
        KILN_ASSIGN_OR_RETURN(locks_.emplace_back(), SocketLock::Take(path));
      }
      builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &ports[i]);
    }
    builder.RegisterService(&*service_);
    builder.RegisterService(&*admin_);
    server_ = builder.BuildAndStart();
    for (size_t i = 0; i < ports.size(); ++i) {
      const std::string& address = options_.listen[i];
      if (server_ == nullptr || ports[i] == 0) {
        return absl::AlreadyExistsError(
            absl::StrCat("can't listen on ", address,
                         ": another process does, or this machine has no such address"));
      }
      addresses_.push_back(UnixPath(address).empty()
                               ? absl::StrCat(address.substr(0, address.rfind(':')), ":", ports[i])
                               : address);
    }
    server_->GetHealthCheckService()->SetServingStatus(true);
    return absl::OkStatus();
  }

  runtime::Registry& registry_;
  const DaemonOptions options_;
  std::unique_ptr<runtime::Engine> engine_;
  Shares shares_;
  Events events_;
  WorkPool pool_;
  std::unique_ptr<BlobStore> blobs_;  // Null: there are none, and blob_status_ may say why.
  absl::Status blob_status_;
  std::unique_ptr<Metrics> metrics_;
  std::optional<Profiler> profiler_;
  LogObserver log_;
  Observers observers_;
  std::optional<ServerDescription> description_;
  std::optional<SessionManager> sessions_;
  std::optional<KilnService> service_;
  std::optional<AdminService> admin_;
  std::vector<std::unique_ptr<SocketLock>> locks_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;

  absl::Mutex mu_;
  std::function<void(absl::Duration)> on_drain_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(runtime::Registry& registry,
                                                      DaemonOptions options) {
  auto daemon = std::make_unique<GrpcDaemon>(registry, std::move(options));
  KILN_RETURN_IF_ERROR(daemon->Init());
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace kiln::server
