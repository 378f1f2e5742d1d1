// What the daemon does, as it does it: events for whoever profiles it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/runtime/engine.h"
#include "core/runtime/profiler.h"
#include "kiln/v1/admin.pb.h"
#include "server/observer.h"
#include "server/pb.h"

namespace kiln::server {

// One profile that somebody takes. Thread-safe.
class ProfileFeed {
 public:
  static constexpr size_t kMaxEvents = 1 << 16;  // That wait to be sent; later ones are dropped.

  void Add(pb::ProfileEvent event);
  // All that there are; blocks until there are some, or the deadline.
  pb::ProfileEvents Take(absl::Time deadline);

 private:
  absl::Mutex mu_;
  std::vector<pb::ProfileEvent> events_ ABSL_GUARDED_BY(mu_);
  uint64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
};

// Spreads events to the feeds there are; costs a load for each event while there is none. Kernels are
// observed only then. Thread-safe.
class Profiler final : public Observer {
 public:
  // The engine is borrowed.
  explicit Profiler(runtime::Engine& engine);
  ~Profiler() override;

  // Gets events until it is let go.
  std::shared_ptr<ProfileFeed> Open();

  void OnCommand(const CommandEvent& event) override;
  void OnGraph(uint64_t session, bool hit, int64_t began_ns, int64_t done_ns) override;

 private:
  class Kernels;
  void Spread(const pb::ProfileEvent& event);
  void OnKernel(const runtime::KernelEvent& event);

  runtime::Engine& engine_;
  const std::shared_ptr<Kernels> kernels_;
  std::atomic<bool> is_on_ = false;
  absl::Mutex mu_;
  std::vector<std::weak_ptr<ProfileFeed>> feeds_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kiln::server
