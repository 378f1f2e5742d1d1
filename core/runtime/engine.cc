#include "core/runtime/engine.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "core/runtime/checked_run.h"
#include "core/runtime/clock.h"
#include "core/runtime/staging.h"

namespace kiln::runtime {
namespace {

int HelperThreads(int compile_threads) {
  if (compile_threads > 0) return compile_threads - 1;
  return std::max(0, static_cast<int>(std::thread::hardware_concurrency()) - 1);
}

absl::StatusOr<absl::Span<std::byte>> HostRange(const Buffer& buffer, int64_t offset,
                                                int64_t bytes) {
  KILN_RETURN_IF_ERROR(CheckRange(buffer, offset, bytes));
  if (buffer.host() == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("memory of ", buffer.device().name(), " is not visible to the host"));
  }
  return absl::MakeSpan(buffer.host() + offset, static_cast<size_t>(bytes));
}

}  // namespace

Engine::Engine(Registry& registry, EngineOptions options)
    : registry_(registry),
      options_(std::move(options)),
      threads_(HelperThreads(options_.compile_threads)),
      runners_(options_.max_plans) {}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(Registry& registry, EngineOptions options) {
  auto engine = std::unique_ptr<Engine>(new Engine(registry, std::move(options)));
  const EngineOptions& o = engine->options_;
  if (o.validate_on.has_value()) {
    KILN_ASSIGN_OR_RETURN(engine->reference_, registry.Get(*o.validate_on));
  }
  if (o.cache_folder.has_value()) {
    absl::StatusOr<std::unique_ptr<ObjectStore>> store =
        ObjectStore::Open({.folder = *o.cache_folder, .max_bytes = o.max_cache_bytes});
    engine->cache_status_ = store.status();
    if (store.ok()) engine->store_ = *std::move(store);
  }
  engine->kernels_ = std::make_unique<KernelCache>(KernelCache::Options{
      .max_loaded = o.max_kernels, .max_compiled = o.max_kernels, .store = engine->store_.get()});
  return engine;
}

absl::StatusOr<std::shared_ptr<GraphRunner>> Engine::Prepare(const tensor::TensorGraph& graph) {
  const PlanContext context = {.registry = registry_,
                               .kernels = *kernels_,
                               .threads = threads_,
                               .default_device = options_.default_device,
                               .reference = reference_,
                               .math = options_.math};
  return runners_.Get(
      PlanIdOf(graph, context), [&]() -> absl::StatusOr<std::shared_ptr<GraphRunner>> {
        const int64_t begin = HostTimeNs();
        ++plans_built_;
        KILN_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, BuildPlan(graph, context));
        schedule_ns_ += HostTimeNs() - begin;
        return std::make_shared<GraphRunner>(std::move(plan), state_);
      });
}

absl::StatusOr<std::shared_ptr<GraphRunner>> Engine::Capture(const tensor::TensorGraph& graph) {
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<GraphRunner> runner, Prepare(graph));
  return std::make_shared<GraphRunner>(runner->shared_plan(), state_);
}

absl::StatusOr<RunResult> Engine::Run(const tensor::TensorGraph& graph, const RunArgs& args) {
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<GraphRunner> runner, Prepare(graph));
  if (reference_ != nullptr) return CheckedRun(runner->plan(), args);
  return runner->Run(args);
}

absl::StatusOr<std::shared_ptr<Buffer>> Engine::Allocate(std::string_view device, int64_t bytes) {
  KILN_ASSIGN_OR_RETURN(Device * on, registry_.Get(device));
  return on->memory().Allocate(std::max<int64_t>(bytes, 1), BufferUse::kDevice);
}

absl::StatusOr<std::shared_ptr<Buffer>> Engine::Upload(std::string_view device,
                                                       absl::Span<const std::byte> contents) {
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer,
                        Allocate(device, static_cast<int64_t>(contents.size())));
  KILN_RETURN_IF_ERROR(Write(*buffer, 0, contents));
  return buffer;
}

absl::Status Engine::Read(const Tensor& tensor, absl::Span<std::byte> to) {
  return Read(*tensor.buffer, tensor.offset, to);
}

absl::Status Engine::Read(Buffer& buffer, int64_t offset, absl::Span<std::byte> to) {
  KILN_RETURN_IF_ERROR(CheckRange(buffer, offset, static_cast<int64_t>(to.size())));
  KILN_RETURN_IF_ERROR(buffer.hazards().AwaitReadable());
  if (buffer.host() != nullptr) {
    if (!to.empty()) std::memcpy(to.data(), buffer.host() + offset, to.size());
    return absl::OkStatus();
  }
  return CopyToHost(buffer, offset, to);
}

absl::Status Engine::Write(Buffer& buffer, int64_t offset, absl::Span<const std::byte> from) {
  const auto bytes = static_cast<int64_t>(from.size());
  KILN_RETURN_IF_ERROR(CheckRange(buffer, offset, bytes));
  buffer.hazards().AwaitWritable();
  if (buffer.host() != nullptr) {
    if (!from.empty()) std::memcpy(buffer.host() + offset, from.data(), from.size());
    buffer.hazards().SetWrite({}, bytes >= buffer.bytes() ? Extent::kWhole : Extent::kPart);
    return absl::OkStatus();
  }
  return CopyFromHost(buffer, offset, from);
}

absl::StatusOr<HostWrite> Engine::BeginHostWrite(std::shared_ptr<Buffer> buffer, int64_t offset,
                                                 int64_t bytes) {
  KILN_ASSIGN_OR_RETURN(const absl::Span<std::byte> memory, HostRange(*buffer, offset, bytes));
  const Extent extent = bytes >= buffer->bytes() ? Extent::kWhole : Extent::kPart;
  absl::MutexLock lock(&state_->mu());
  return HostWrite(std::move(buffer), memory, extent);
}

absl::StatusOr<HostRead> Engine::BeginHostRead(std::shared_ptr<Buffer> buffer, int64_t offset,
                                               int64_t bytes) {
  KILN_ASSIGN_OR_RETURN(const absl::Span<std::byte> memory, HostRange(*buffer, offset, bytes));
  absl::MutexLock lock(&state_->mu());
  return HostRead(std::move(buffer), memory);
}

Engine::Counters Engine::counters() const {
  Counters c = {
      .plans_built = plans_built_, .kernels = kernels_->counters(), .schedule_ns = schedule_ns_};
  if (store_ != nullptr) c.store = store_->counters();
  return c;
}

}  // namespace kiln::runtime
