#include "server/ops/profile.h"

#include <string>
#include <utility>

namespace kiln::server {

void ProfileFeed::Add(pb::ProfileEvent event) {
  absl::MutexLock lock(&mu_);
  if (events_.size() >= kMaxEvents) {
    ++dropped_;
  } else {
    events_.push_back(std::move(event));
  }
}

pb::ProfileEvents ProfileFeed::Take(absl::Time deadline) {
  const auto some = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !events_.empty(); };
  pb::ProfileEvents message;
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithDeadline(absl::Condition(&some), deadline);
  for (pb::ProfileEvent& event : events_) *message.add_events() = std::move(event);
  events_.clear();
  message.set_dropped(std::exchange(dropped_, 0));
  return message;
}

// What the engine tells of kernels. It may be called a little after the profiler has gone.
class Profiler::Kernels final : public runtime::KernelObserver {
 public:
  explicit Kernels(Profiler* profiler) : profiler_(profiler) {}
  void OnKernel(const runtime::KernelEvent& event) override {
    absl::MutexLock lock(&mu_);
    if (profiler_ != nullptr) profiler_->OnKernel(event);
  }
  void Detach() {
    absl::MutexLock lock(&mu_);
    profiler_ = nullptr;
  }

 private:
  absl::Mutex mu_;
  Profiler* profiler_ ABSL_GUARDED_BY(mu_);
};

Profiler::Profiler(runtime::Engine& engine)
    : engine_(engine), kernels_(std::make_shared<Kernels>(this)) {}

Profiler::~Profiler() {
  engine_.SetKernelObserver(nullptr);
  kernels_->Detach();
}

std::shared_ptr<ProfileFeed> Profiler::Open() {
  auto feed = std::make_shared<ProfileFeed>();
  {
    absl::MutexLock lock(&mu_);
    feeds_.push_back(feed);
    is_on_ = true;
  }
  engine_.SetKernelObserver(kernels_);
  return feed;
}

void Profiler::Spread(const pb::ProfileEvent& event) {
  std::vector<std::shared_ptr<ProfileFeed>> feeds;
  {
    absl::MutexLock lock(&mu_);
    std::erase_if(feeds_, [](const auto& feed) { return feed.expired(); });
    for (const auto& feed : feeds_) {
      if (auto alive = feed.lock()) feeds.push_back(std::move(alive));
    }
    is_on_ = !feeds_.empty();
  }
  // Kernels go on being observed, in vain, until the next profile ends: taking the observer out here
  // would race with one that begins.
  for (const auto& feed : feeds) feed->Add(event);
}

void Profiler::OnCommand(const CommandEvent& event) {
  if (!is_on_.load(std::memory_order_relaxed)) return;
  pb::ProfileEvent message;
  message.set_kind(event.kind == "CopyIn" || event.kind == "CopyOut" || event.kind == "Transfer"
                       ? pb::ProfileEvent::KIND_TRANSFER
                       : pb::ProfileEvent::KIND_COMMAND);
  message.set_name(std::string(event.kind));
  message.set_session(event.session);
  message.set_seq(event.seq);
  message.set_start_ns(static_cast<uint64_t>(event.began_ns));
  message.set_duration_ns(static_cast<uint64_t>(event.done_ns - event.began_ns));
  Spread(message);
}

void Profiler::OnGraph(uint64_t session, bool hit, int64_t began_ns, int64_t done_ns) {
  if (!is_on_.load(std::memory_order_relaxed)) return;
  pb::ProfileEvent message;
  message.set_kind(pb::ProfileEvent::KIND_COMPILE);
  message.set_name(hit ? "graph known" : "graph compiled");
  message.set_session(session);
  message.set_start_ns(static_cast<uint64_t>(began_ns));
  message.set_duration_ns(static_cast<uint64_t>(done_ns - began_ns));
  Spread(message);
}

void Profiler::OnKernel(const runtime::KernelEvent& event) {
  if (!is_on_.load(std::memory_order_relaxed)) return;
  pb::ProfileEvent message;
  message.set_kind(event.copied_bytes > 0 ? pb::ProfileEvent::KIND_TRANSFER
                                          : pb::ProfileEvent::KIND_KERNEL);
  message.set_name(std::string(event.name));
  message.set_session(event.stream);
  message.set_start_ns(static_cast<uint64_t>(event.begin_ns));
  message.set_duration_ns(static_cast<uint64_t>(event.end_ns - event.begin_ns));
  Spread(message);
}

}  // namespace kiln::server
