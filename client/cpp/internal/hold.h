// Commands that a thread holds back, to send them in one message.
#pragma once

#include <memory>

#include "client/cpp/internal/core.h"

namespace kiln::client {

// Confined to the thread and scope that make it. Commands of this thread for this session are
// numbered but not sent by their thread until the end of the outermost scope, or until the thread
// waits for a result.
class HeldCommands {
 public:
  explicit HeldCommands(std::shared_ptr<Core> core);
  ~HeldCommands();
  HeldCommands(const HeldCommands&) = delete;
  HeldCommands& operator=(const HeldCommands&) = delete;

  static bool Holds(const Core* core);

 private:
  friend void ReleaseHeldCommands();
  const std::shared_ptr<Core> core_;
  HeldCommands* const outer_;
};

}  // namespace kiln::client
