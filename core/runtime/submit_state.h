// What all that submits work of an engine shares.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/runtime/profiler.h"
#include "core/runtime/stream.h"

namespace kiln::runtime {

// Thread-safe.
class SubmitState {
 public:
  // Held from looking at the hazards of buffers until those of the new submission are recorded.
  // Taken after Stream::mu().
  absl::Mutex& mu() ABSL_LOCK_RETURNED(mu_) { return mu_; }
  std::shared_ptr<Stream> NewStream(StreamOptions options);
  Stream& default_stream() { return *default_stream_; }
  // Tells apart graphs in Stream::RecordingOf.
  uint64_t NextGraph() { return ++num_graphs_; }
  KernelProbe& probe() { return *probe_; }
  // Gives up the arenas of streams that have nothing to do, and of the default stream.
  void DropArenas();

 private:
  absl::Mutex mu_;
  std::atomic<uint64_t> num_streams_ = 0, num_graphs_ = 0;
  const std::shared_ptr<KernelProbe> probe_ = std::make_shared<KernelProbe>();
  absl::Mutex streams_mu_;
  std::vector<std::weak_ptr<Stream>> streams_ ABSL_GUARDED_BY(streams_mu_);
  size_t sweep_at_ ABSL_GUARDED_BY(streams_mu_) = 16;  // Number of them.
  const std::shared_ptr<Stream> default_stream_ = NewStream({});
};

}  // namespace kiln::runtime
