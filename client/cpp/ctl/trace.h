// Traces in the JSON of Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev).
// Source: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/v1/admin.pb.h"

namespace kiln::ctl {

// A text as it stands in JSON, without the quotes. What is not UTF-8 becomes U+FFFD.
std::string EscapeJson(std::string_view text);

// The events of a daemon, collected and then written at once: what a viewer can draw has to be known
// as a whole, since events of one track that overlap without being nested need tracks of their own.
// Confined to one thread.
class Trace {
 public:
  explicit Trace(size_t max_events) : max_events_(max_events) {}

  // What is over max_events counts as dropped.
  void Add(const v1::ProfileEvents& events);
  size_t num_events() const { return events_.size(); }
  uint64_t num_dropped() const { return num_dropped_; }
  bool is_full() const { return events_.size() >= max_events_; }

  // Times begin with the first event. A process for each session (commands, transfers, compiling)
  // and for each device (kernels). The order does not depend on the one in which events came.
  void Write(std::ostream& out);

 private:
  const size_t max_events_;
  std::vector<v1::ProfileEvent> events_;
  uint64_t num_dropped_ = 0;
};

}  // namespace kiln::ctl
