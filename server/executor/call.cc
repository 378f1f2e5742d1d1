#include "server/executor/call.h"

#include <atomic>
#include <utility>

namespace kiln::server {
namespace {

// How several went: the first error in their order.
absl::Status StatusOf(const std::vector<runtime::Dependency>& dependencies) {
  for (const runtime::Dependency& d : dependencies) {
    if (d.outcome != nullptr && !d.outcome->status.ok()) return d.outcome->status;
  }
  return absl::OkStatus();
}

struct Waiting {
  std::vector<runtime::Dependency> dependencies;
  std::function<void(absl::Status)> callback;
  std::atomic<size_t> left;
};

}  // namespace

void WhenPassed(std::vector<runtime::Dependency> dependencies,
                std::function<void(absl::Status)> callback) {
  bool passed = true;
  for (const runtime::Dependency& d : dependencies) passed = passed && d.point.passed();
  if (passed) return callback(StatusOf(dependencies));

  const auto waiting = std::make_shared<Waiting>();
  waiting->dependencies = std::move(dependencies);
  waiting->callback = std::move(callback);
  waiting->left = waiting->dependencies.size();
  for (const runtime::Dependency& d : waiting->dependencies) {
    const auto on_passed = [waiting] {
      if (--waiting->left == 0) waiting->callback(StatusOf(waiting->dependencies));
    };
    if (d.point.timeline == nullptr) {
      on_passed();
    } else {
      d.point.timeline->Notify(d.point.value, on_passed);
    }
  }
}

}  // namespace kiln::server
