#include "client/cpp/internal/hold.h"

#include <utility>

namespace kiln::client {
namespace {

thread_local HeldCommands* innermost = nullptr;

}  // namespace

HeldCommands::HeldCommands(std::shared_ptr<Core> core) : core_(std::move(core)), outer_(innermost) {
  innermost = this;
}

HeldCommands::~HeldCommands() {
  innermost = outer_;
  if (!Holds(core_.get())) core_->Kick();
}

bool HeldCommands::Holds(const Core* core) {
  for (const HeldCommands* held = innermost; held != nullptr; held = held->outer_) {
    if (held->core_.get() == core) return true;
  }
  return false;
}

void ReleaseHeldCommands() {
  for (const HeldCommands* held = innermost; held != nullptr; held = held->outer_) {
    held->core_->Kick();
  }
}

}  // namespace kiln::client
