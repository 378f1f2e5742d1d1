// From tensor graphs to results.
//
//   Registry registry;
//   RegisterCpuBackend(registry);
//   KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Create(registry, {}));
//   KILN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> x, engine->Upload("cpu:0", bytes));
//   KILN_ASSIGN_OR_RETURN(RunResult result, engine->Run(graph, {.inputs = {{0, x}}, ...}));
//   KILN_RETURN_IF_ERROR(engine->Read(result.outputs[0], absl::MakeSpan(host)));  // Waits.
//
// For many clients: a Stream each, and nothing that waits.
//
//   const std::shared_ptr<Stream> stream = engine->NewStream({});
//   KILN_ASSIGN_OR_RETURN(Dependency in, engine->CopyIn(*stream, x, 0, {bytes, owner}));
//   KILN_ASSIGN_OR_RETURN(RunResult result, runner->Run({..., .stream = stream.get()}));
//   KILN_ASSIGN_OR_RETURN(CopyOutResult out, engine->CopyOut(*stream, y, 0, y->bytes()));
//   WhenPassed({{out.done}}, [out](absl::Status status) {... out.data() ...});
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/runtime/graph_runner.h"
#include "core/runtime/host_access.h"
#include "core/runtime/kernel_cache.h"
#include "core/runtime/object_store.h"
#include "core/runtime/plan_builder.h"
#include "core/runtime/registry.h"
#include "core/runtime/stream.h"
#include "core/runtime/submit_state.h"
#include "core/runtime/thread_pool.h"
#include "core/runtime/transfers.h"
#include "core/tensor/tensor_graph.h"

namespace kiln::runtime {

struct EngineOptions {
  std::string default_device = "cpu:0";
  // Where compiled kernels are kept. None: they are not. A folder that can't be used is no error:
  // see Engine::cache_status.
  std::optional<std::string> cache_folder = std::nullopt;
  int64_t max_cache_bytes = int64_t{512} << 20;
  size_t max_plans = 1024;    // Graphs that are kept ready.
  size_t max_kernels = 8192;  // Executables that are kept loaded.
  int compile_threads = 0;    // 0: one for each core.
  // Runs every kernel on this device as well ("interp:0") and compares: see checked_run.h. Runs
  // then wait for their results.
  std::optional<std::string> validate_on = std::nullopt;
  symbolic::Math math = symbolic::Math::kExact;
};

// Thread-safe. Buffers of its runs must be destroyed before the registry, not before the engine.
class Engine {
 public:
  // Errors of opening the device to validate on. The registry is borrowed.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(Registry& registry, EngineOptions options);

  // Makes a graph ready: schedules it, compiles its kernels in parallel. For a graph that is built
  // like one seen before it takes some 30 ns for each of its nodes, the second time some
  // microseconds; threads that come with one new graph do the work once. Adds nodes to the graph,
  // which may die then.
  absl::StatusOr<std::shared_ptr<GraphRunner>> Prepare(const tensor::TensorGraph& graph);

  // Prepare, with command lists that only the caller uses.
  absl::StatusOr<std::shared_ptr<GraphRunner>> Capture(const tensor::TensorGraph& graph);

  // Prepare, and one run: see GraphRunner::Run. Errors of both.
  absl::StatusOr<RunResult> Run(const tensor::TensorGraph& graph, const RunArgs& args);

  // ** memory **
  // A buffer of at least `bytes` bytes (0 is fine); contents undefined.
  absl::StatusOr<std::shared_ptr<Buffer>> Allocate(std::string_view device, int64_t bytes);
  absl::StatusOr<std::shared_ptr<Buffer>> Upload(std::string_view device,
                                                 absl::Span<const std::byte> contents);
  // Waits for the writes that were submitted before, and for no other work; then copies the
  // contents. If they failed: their error, which is the first one where others followed from it.
  absl::Status Read(const Tensor& tensor, absl::Span<std::byte> to);
  absl::Status Read(Buffer& buffer, int64_t offset, absl::Span<std::byte> to);
  // Waits for the work that was submitted before and uses the buffer, then overwrites. A buffer
  // that is overwritten as a whole is well again, whatever has failed before.
  absl::Status Write(Buffer& buffer, int64_t offset, absl::Span<const std::byte> from);

  // ** streams: many clients **
  // A client's own order of work. Dies before the registry, not before the engine.
  std::shared_ptr<Stream> NewStream(StreamOptions options = {}) {
    return state_->NewStream(options);
  }
  // Work of whoever names no stream.
  Stream& default_stream() { return state_->default_stream(); }
  // Copies as work of a stream: see transfers.h.
  absl::StatusOr<Dependency> CopyIn(Stream& stream, const std::shared_ptr<Buffer>& to,
                                    int64_t offset, HostBytes from, CopyOptions options = {}) {
    return runtime::CopyIn(*state_, stream, to, offset, std::move(from), options);
  }
  absl::StatusOr<CopyOutResult> CopyOut(Stream& stream, const std::shared_ptr<Buffer>& from,
                                        int64_t offset, int64_t bytes, CopyOptions options = {}) {
    return runtime::CopyOut(*state_, stream, from, offset, bytes, options);
  }
  // On any two devices. The ranges don't overlap.
  absl::StatusOr<Dependency> Copy(Stream& stream, CopyEnd to, CopyEnd from, int64_t bytes,
                                  CopyOptions options = {}) {
    return runtime::Copy(*state_, stream, to, from, bytes, options);
  }
  // Bytes put into a buffer, or taken from it, by the host itself, over any length of time: see
  // host_access.h. Never blocks. FailedPrecondition if the memory is not host-visible: use CopyIn
  // and CopyOut.
  absl::StatusOr<HostWrite> BeginHostWrite(std::shared_ptr<Buffer> buffer, int64_t offset,
                                           int64_t bytes);
  absl::StatusOr<HostRead> BeginHostRead(std::shared_ptr<Buffer> buffer, int64_t offset,
                                         int64_t bytes);
  // Frees the memory that idle streams keep for temporaries.
  void DropArenas() { state_->DropArenas(); }
  // Shows each kernel that runs from now on to `observer`; null: no more.
  void SetKernelObserver(std::shared_ptr<KernelObserver> observer) {
    state_->probe().Set(std::move(observer));
  }

  // ** counters **
  struct Counters {
    int64_t plans_built = 0;  // Graphs that were scheduled.
    KernelCache::Counters kernels;
    ObjectStore::Counters store;
    int64_t schedule_ns = 0;  // Building plans, compiling included; in all threads together.
  };
  Counters counters() const;
  // Why nothing is kept on disk; OK if it is, or if that was not asked for.
  const absl::Status& cache_status() const { return cache_status_; }

 private:
  Engine(Registry& registry, EngineOptions options);

  Registry& registry_;
  const EngineOptions options_;
  absl::Status cache_status_;
  std::unique_ptr<ObjectStore> store_;  // May be null.
  Device* reference_ = nullptr;
  std::unique_ptr<KernelCache> kernels_;
  ThreadPool threads_;
  const std::shared_ptr<SubmitState> state_ = std::make_shared<SubmitState>();
  SingleFlightCache<Digest, std::shared_ptr<GraphRunner>> runners_;
  std::atomic<int64_t> plans_built_ = 0, schedule_ns_ = 0;
};

}  // namespace kiln::runtime
