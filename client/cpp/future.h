// The result of a command that is under way.
//
//   kiln::Future<kiln::GraphInfo> run = session.Run(graph, inputs, outputs);
//   ... other commands ...
//   absl::StatusOr<kiln::GraphInfo> info = run.Get();
//
// Dropping a future is fine: the command is carried out all the same, and if it fails, what reads
// its results fails and names it as the cause.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "client/cpp/internal/reply.h"

namespace kiln {

// Thread-safe. Copies stand for the same result.
template <typename T>
class Future {
 public:
  // Makes the value from a result. Called by Get, on its thread.
  using Decode = absl::StatusOr<T> (*)(const v1::Result& result);
  Future(std::shared_ptr<client::Reply> reply, Decode decode)
      : reply_(std::move(reply)), decode_(decode) {}

  bool IsReady() const { return reply_->is_done(); }
  void Wait() const { reply_->Wait(); }
  // Waits. The error of the command, or of the session.
  absl::StatusOr<T> Get() const {
    reply_->Wait();
    if (!reply_->status().ok()) return reply_->status();
    return decode_(reply_->result());
  }
  // The number of the command in its session, by which errors name it.
  uint64_t seq() const { return reply_->seq(); }

 private:
  std::shared_ptr<client::Reply> reply_;
  Decode decode_;
};

// Of a command that answers nothing but how it went.
template <>
class Future<void> {
 public:
  explicit Future(std::shared_ptr<client::Reply> reply) : reply_(std::move(reply)) {}

  bool IsReady() const { return reply_->is_done(); }
  void Wait() const { reply_->Wait(); }
  // Waits. The error of the command, or of the session.
  absl::Status Get() const {
    reply_->Wait();
    return reply_->status();
  }
  uint64_t seq() const { return reply_->seq(); }

 private:
  std::shared_ptr<client::Reply> reply_;
};

}  // namespace kiln
