// The daemon's log: one line an event, key=value, on standard error.
//
//   Log(LogLevel::kInfo, "session opened", {{"session", "7"}, {"client", name}});
//   => 2026-01-02T03:04:05.678Z info session opened session=7 client="train.py"
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "server/observer.h"

namespace kiln::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Thread-safe. Values are quoted and escaped where needed, so that nothing a client sends can forge a
// line. Never give it tokens or tickets.
void Log(LogLevel level, std::string_view event,
         std::initializer_list<std::pair<std::string_view, std::string>> fields);

// Below it nothing is written. Info at first.
void SetLogLevel(LogLevel level);

// Logs sessions, and commands that failed: bugs of the server as errors, others for debugging.
class LogObserver final : public Observer {
 public:
  void OnCommand(const CommandEvent& event) override;
  void OnSessionOpened(uint64_t session, std::string_view client_name) override;
  void OnSessionEnded(uint64_t session, const absl::Status& why) override;
};

}  // namespace kiln::server
