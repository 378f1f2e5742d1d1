#include "core/runtime/timeline.h"

#include <vector>

namespace kiln::runtime {
namespace {

struct Pending {
  std::vector<Dependency> all;
  absl::AnyInvocable<void(absl::Status) &&> callback;
  size_t next = 0;  // Those before have passed.
  absl::Status status;
};

void Continue(std::shared_ptr<Pending> p) {
  for (; p->next < p->all.size(); ++p->next) {
    const Dependency& d = p->all[p->next];
    if (!d.point.passed()) {
      Timeline::Callback again = [p] { Continue(p); };
      if (d.point.timeline->NotifyLater(d.point.value, again)) return;  // From here it may run.
    }
    if (p->status.ok() && d.outcome != nullptr) p->status = d.outcome->status;
  }
  std::move(p->callback)(std::move(p->status));
}

}  // namespace

void WhenPassed(absl::Span<const Dependency> all,
                absl::AnyInvocable<void(absl::Status) &&> callback) {
  Continue(std::make_shared<Pending>(Pending{{all.begin(), all.end()}, std::move(callback)}));
}

}  // namespace kiln::runtime
