// Who watches the daemon at work: metrics, profiles, logs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace kiln::server {

// One command that is done.
struct CommandEvent {
  std::string_view kind;  // "GraphExec".
  uint64_t session, seq;
  int64_t arrived_ns, began_ns, done_ns;  // Of runtime::HostTimeNs.
  const absl::Status& status;
};

enum class TransferDirection { kIn, kOut };

// Thread-safe; cheap: called for each command. The transfers are those of bulk data and of commands.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnCommand(const CommandEvent&) {}
  // Bytes that went between clients and buffers.
  virtual void OnBytes(uint64_t /*session*/, TransferDirection, int64_t /*bytes*/) {}
  // A graph was made ready; `hit`: nothing was scheduled or compiled.
  virtual void OnGraph(uint64_t /*session*/, bool /*hit*/, int64_t /*began_ns*/,
                       int64_t /*done_ns*/) {}
  virtual void OnSessionOpened(uint64_t /*session*/, std::string_view /*client_name*/) {}
  virtual void OnSessionEnded(uint64_t /*session*/, const absl::Status& /*why*/) {}
};

// Tells several, in their order. Thread-safe once the last is added.
class Observers final : public Observer {
 public:
  // Borrowed.
  void Add(Observer* observer) { observers_.push_back(observer); }

  void OnCommand(const CommandEvent& event) override {
    for (Observer* o : observers_) o->OnCommand(event);
  }
  void OnBytes(uint64_t session, TransferDirection direction, int64_t bytes) override {
    for (Observer* o : observers_) o->OnBytes(session, direction, bytes);
  }
  void OnGraph(uint64_t session, bool hit, int64_t began_ns, int64_t done_ns) override {
    for (Observer* o : observers_) o->OnGraph(session, hit, began_ns, done_ns);
  }
  void OnSessionOpened(uint64_t session, std::string_view client_name) override {
    for (Observer* o : observers_) o->OnSessionOpened(session, client_name);
  }
  void OnSessionEnded(uint64_t session, const absl::Status& why) override {
    for (Observer* o : observers_) o->OnSessionEnded(session, why);
  }

 private:
  std::vector<Observer*> observers_;
};

}  // namespace kiln::server
