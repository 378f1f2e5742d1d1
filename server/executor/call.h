// A command that has begun: what executor*.cc share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/runtime/timeline.h"
#include "server/executor/executor.h"

namespace kiln::server {

// Used by the strand until it is handed over, then by one thread at a time. Keeps its session alive.
struct Executor::Call {
  uint64_t seq = 0;
  pb::Command command;
  Finish finish;
  std::function<void()> resume;

  // What it reads and writes, as of when it began.
  struct Read {
    std::string name;  // "buffer 7"
    std::shared_ptr<Contents> contents;
  };
  std::vector<Read> reads;
  std::vector<std::shared_ptr<Contents>> writes;

  // It is over: with FailedPrecondition, if something that it has read has failed meanwhile. Settles
  // what it has written.
  void Done(CommandOutcome outcome) {
    if (!outcome.status.ok()) {
      for (const Read& read : reads) {
        const std::optional<Failure> failure = read.contents->failure();
        if (failure.has_value()) {
          outcome = {.status = Poisoned(read.name, *failure)};
          break;
        }
      }
    }
    std::optional<Failure> failure;
    if (!outcome.status.ok()) failure = RootOf(seq, outcome.status);
    for (const auto& contents : writes) contents->Settle(failure);
    reads.clear();
    writes.clear();
    finish(std::move(outcome));
  }
};

// Calls back with how it went once all have passed: now, or on the thread that passes the last.
void WhenPassed(std::vector<runtime::Dependency> dependencies,
                std::function<void(absl::Status)> callback);

}  // namespace kiln::server
