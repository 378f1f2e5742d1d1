#include "server/ops/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include "kiln/v1/command.pb.h"
#include "server/command_kind.h"

namespace kiln::server {
namespace {

// Seconds: from a command that does nothing to a long compile.
const prometheus::Histogram::BucketBoundaries& Seconds() {
  static const auto& buckets = *new prometheus::Histogram::BucketBoundaries{
      1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10, 30, 100};
  return buckets;
}

double SecondsBetween(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

// Reads what engine and devices count, when somebody asks.
class EngineCounters final : public prometheus::Collectable {
 public:
  EngineCounters(const runtime::Engine& engine, std::vector<runtime::Device*> devices)
      : engine_(engine), devices_(std::move(devices)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const runtime::Engine::Counters c = engine_.counters();
    std::vector<prometheus::MetricFamily> families;
    const auto counter = [&](const char* name, const char* help, int64_t value) {
      families.push_back({name, help, prometheus::MetricType::Counter, {}});
      families.back().metric.emplace_back().counter.value = static_cast<double>(value);
    };
    counter("kiln_plans_built_total", "Graphs that were scheduled.", c.plans_built);
    counter("kiln_kernels_compiled_total", "Kernels that were compiled.", c.kernels.compiled);
    counter("kiln_kernel_disk_hits_total", "Kernels found compiled on disk.", c.store.hits);
    families.push_back(
        {"kiln_device_used_bytes", "Memory of living buffers.", prometheus::MetricType::Gauge, {}});
    for (runtime::Device* device : devices_) {
      prometheus::ClientMetric& m = families.back().metric.emplace_back();
      m.label.push_back({"device", device->name()});
      m.gauge.value = static_cast<double>(device->memory().used_bytes());
    }
    families.push_back({"kiln_device_busy_seconds_total",
                        "Time that kernels have run.",
                        prometheus::MetricType::Counter,
                        {}});
    for (runtime::Device* device : devices_) {
      prometheus::ClientMetric& m = families.back().metric.emplace_back();
      m.label.push_back({"device", device->name()});
      m.counter.value = static_cast<double>(device->busy_ns()) * 1e-9;
    }
    return families;
  }

 private:
  const runtime::Engine& engine_;
  const std::vector<runtime::Device*> devices_;
};

class PrometheusMetrics final : public Metrics {
 public:
  PrometheusMetrics(const runtime::Engine& engine, std::vector<runtime::Device*> devices)
      : counters_(std::make_shared<EngineCounters>(engine, std::move(devices))) {
    auto& waits = prometheus::BuildHistogram()
                      .Name("kiln_command_queue_seconds")
                      .Help("From a command's arrival until it begins.")
                      .Register(*registry_);
    auto& runs = prometheus::BuildHistogram()
                     .Name("kiln_command_run_seconds")
                     .Help("From a command's beginning until it is over.")
                     .Register(*registry_);
    auto& failures = prometheus::BuildCounter()
                         .Name("kiln_command_failures_total")
                         .Help("Commands that have failed.")
                         .Register(*registry_);
    const google::protobuf::Descriptor& command = *pb::Command::descriptor();
    for (int i = 0; i < command.field_count(); ++i) {
      Add(KindName(static_cast<pb::Command::CommandCase>(command.field(i)->number())), waits, runs,
          failures);
    }
    Add(KindName(pb::Command::COMMAND_NOT_SET), waits, runs, failures);
    auto& bytes = prometheus::BuildCounter()
                      .Name("kiln_transfer_bytes_total")
                      .Help("Bytes between clients and buffers.")
                      .Register(*registry_);
    bytes_in_ = &bytes.Add({{"direction", "in"}});
    bytes_out_ = &bytes.Add({{"direction", "out"}});
    auto& graphs = prometheus::BuildCounter()
                       .Name("kiln_graphs_total")
                       .Help("Graphs made ready, by whether the engine knew them.")
                       .Register(*registry_);
    graph_hits_ = &graphs.Add({{"cache", "hit"}});
    graph_misses_ = &graphs.Add({{"cache", "miss"}});
    compile_ =
        &prometheus::BuildHistogram()
             .Name("kiln_graph_ready_seconds")
             .Help("Importing, scheduling and compiling a graph that the session had not sent.")
             .Register(*registry_)
             .Add({}, Seconds());
    auto& sessions =
        prometheus::BuildGauge().Name("kiln_sessions").Help("Open sessions.").Register(*registry_);
    sessions_ = &sessions.Add({});
  }

  absl::Status Serve(const std::string& address) override {
    try {  // The library's way to say that it can't listen; it stops here.
      exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    } catch (const std::exception& e) {
      return absl::AlreadyExistsError(
          absl::StrCat("can't serve metrics on ", address, ": ", e.what()));
    }
    exposer_->RegisterCollectable(registry_);
    exposer_->RegisterCollectable(counters_);
    return absl::OkStatus();
  }

  std::string ToText() override {
    std::vector<prometheus::MetricFamily> families = registry_->Collect();
    for (prometheus::MetricFamily& f : counters_->Collect()) families.push_back(std::move(f));
    return prometheus::TextSerializer().Serialize(families);
  }

  TotalCounts totals() const override {
    return {.commands = commands_,
            .failed_commands = failed_,
            .bytes_in = static_cast<int64_t>(bytes_in_->Value()),
            .bytes_out = static_cast<int64_t>(bytes_out_->Value()),
            .graphs_scheduled = static_cast<int64_t>(graph_misses_->Value()),
            .graph_hits = static_cast<int64_t>(graph_hits_->Value())};
  }

  void OnCommand(const CommandEvent& event) override {
    ++commands_;
    const auto found = kinds_.find(event.kind);
    if (found == kinds_.end()) return;
    found->second.waits->Observe(SecondsBetween(event.arrived_ns, event.began_ns));
    found->second.runs->Observe(SecondsBetween(event.began_ns, event.done_ns));
    if (event.status.ok()) return;
    ++failed_;
    found->second.failures->Increment();
  }
  void OnBytes(uint64_t, TransferDirection direction, int64_t bytes) override {
    (direction == TransferDirection::kIn ? bytes_in_ : bytes_out_)
        ->Increment(static_cast<double>(bytes));
  }
  void OnGraph(uint64_t, bool hit, int64_t began_ns, int64_t done_ns) override {
    (hit ? graph_hits_ : graph_misses_)->Increment();
    compile_->Observe(SecondsBetween(began_ns, done_ns));
  }
  void OnSessionOpened(uint64_t, std::string_view) override { sessions_->Increment(); }
  void OnSessionEnded(uint64_t, const absl::Status&) override { sessions_->Decrement(); }

 private:
  struct Kind {
    prometheus::Histogram* waits;
    prometheus::Histogram* runs;
    prometheus::Counter* failures;
  };

  void Add(std::string_view kind, prometheus::Family<prometheus::Histogram>& waits,
           prometheus::Family<prometheus::Histogram>& runs,
           prometheus::Family<prometheus::Counter>& failures) {
    const prometheus::Labels labels = {{"command", std::string(kind)}};
    kinds_[kind] = {&waits.Add(labels, Seconds()), &runs.Add(labels, Seconds()),
                    &failures.Add(labels)};
  }

  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  const std::shared_ptr<EngineCounters> counters_;
  absl::flat_hash_map<std::string_view, Kind> kinds_;  // The names live for ever.
  prometheus::Counter *bytes_in_, *bytes_out_, *graph_hits_, *graph_misses_;
  prometheus::Histogram* compile_;
  prometheus::Gauge* sessions_;
  std::atomic<int64_t> commands_ = 0, failed_ = 0;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace

std::unique_ptr<Metrics> Metrics::Make(const runtime::Engine& engine,
                                       std::vector<runtime::Device*> devices) {
  return std::make_unique<PrometheusMetrics>(engine, std::move(devices));
}

}  // namespace kiln::server
