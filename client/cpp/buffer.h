// Handles of what a session has on the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "client/cpp/future.h"
#include "kiln/v1/command.pb.h"

namespace kiln {

namespace client {
class Core;

// What a handle stands for. Freed on the server when the last handle is gone; that waits for
// nothing, and the memory lives on until the commands that use it are done.
struct BufferState {
  ~BufferState();
  std::shared_ptr<Core> core;
  uint64_t id = 0;
  size_t bytes = 0;
  std::shared_ptr<Reply> made;  // By which command. Null: a run makes it.
};
struct CompiledState {
  ~CompiledState();
  std::shared_ptr<Core> core;
  uint64_t id = 0;
  std::shared_ptr<Reply> made;
};
}  // namespace client

// Memory on a device. Thread-safe; copies stand for the same memory.
class Buffer {
 public:
  Buffer() = default;  // No buffer: may only be assigned to.
  explicit Buffer(std::shared_ptr<const client::BufferState> state) : state_(std::move(state)) {}

  bool is_set() const { return state_ != nullptr; }
  uint64_t id() const { return state_->id; }
  // 0 if a run is to make it (Session::NewBuffer).
  size_t bytes() const { return state_->bytes; }
  // How making it went. A buffer that could not be made may be used; that fails, and names the
  // cause.
  Future<void> made() const { return Future<void>(state_->made); }
  const std::shared_ptr<client::Core>& core() const { return state_->core; }

 private:
  std::shared_ptr<const client::BufferState> state_;
};

// A graph that is ready to be run again and again. Thread-safe; copies stand for the same.
class CompiledGraph {
 public:
  CompiledGraph() = default;
  explicit CompiledGraph(std::shared_ptr<const client::CompiledState> state)
      : state_(std::move(state)) {}

  bool is_set() const { return state_ != nullptr; }
  uint64_t id() const { return state_->id; }
  // What was compiled: dtypes, largest shapes, kernels, variables. Or why it can't be.
  Future<v1::GraphResult> info() const;

 private:
  std::shared_ptr<const client::CompiledState> state_;
};

}  // namespace kiln
