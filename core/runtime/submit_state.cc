#include "core/runtime/submit_state.h"

#include <algorithm>

namespace kiln::runtime {

std::shared_ptr<Stream> SubmitState::NewStream(StreamOptions options) {
  const uint64_t id = options.id != 0 ? options.id : ++num_streams_;
  auto stream = std::make_shared<Stream>(id, probe_, options);
  absl::MutexLock lock(&streams_mu_);
  if (streams_.size() >= sweep_at_) {
    std::erase_if(streams_, [](const auto& s) { return s.expired(); });
    sweep_at_ = std::max<size_t>(16, streams_.size() * 2);
  }
  streams_.push_back(stream);
  return stream;
}

void SubmitState::DropArenas() {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    absl::MutexLock lock(&streams_mu_);
    for (const std::weak_ptr<Stream>& s : streams_) streams.push_back(s.lock());
  }
  for (const std::shared_ptr<Stream>& s : streams) {
    if (s != nullptr && (s == default_stream_ || s->idle())) s->DropArenas();
  }
}

}  // namespace kiln::runtime
