// Reads and writes of device memory by threads of the host, ordered with everything else.
//
//   HostWrite write = *engine->BeginHostWrite(buffer, 0, bytes);
//   WhenPassed(write.before(), [&](absl::Status) {...});  // Then bytes may be put in, in any order,
//   std::memcpy(write.memory().data() + at, chunk, size);  // by one thread or several;
//   write.End(absl::OkStatus());                          // now work that was submitted meanwhile
//                                                         // on the buffer begins.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/runtime/buffer.h"
#include "core/runtime/timeline.h"

namespace kiln::runtime {

// What both have in common: a point of the buffer's device that passes when it is over. Moved, not
// copied. Thread-compatible. Destroyed before the device.
class HostAccess {
 public:
  HostAccess(std::shared_ptr<Buffer> buffer, absl::Span<std::byte> memory);
  HostAccess(HostAccess&&) = default;
  HostAccess& operator=(HostAccess&& other) noexcept;
  ~HostAccess();

  // What has to pass before the memory may be touched. Empty: nothing.
  const std::vector<Dependency>& before() const { return before_; }
  // How it went, once it is over.
  const Dependency& done() const { return done_; }
  bool is_over() const { return buffer_ == nullptr; }
  // Ends it, from any thread, once; callbacks of the point run on this thread. Destruction ends it,
  // with CANCELLED, if that has not happened: what was to be written is poisoned then.
  void End(const absl::Status& status);

 protected:
  std::shared_ptr<Buffer> buffer_;  // Null: it is over, or was moved away.
  absl::Span<std::byte> memory_;
  std::vector<Dependency> before_;
  std::shared_ptr<Outcome> outcome_;
  Dependency done_;
};

// Made by Engine::BeginHostWrite. From then on, whatever reads the buffer waits for it.
class HostWrite final : public HostAccess {
 public:
  // Records it. Under SubmitState::mu().
  HostWrite(std::shared_ptr<Buffer> buffer, absl::Span<std::byte> memory, Extent extent);
  // The bytes to be written. Pre: before() has passed; what it says of failures does not matter:
  // a write of a part that went well leaves what was wrong with the rest.
  absl::Span<std::byte> memory() const { return memory_; }
};

// Made by Engine::BeginHostRead. From then on, whatever overwrites the buffer waits for it.
class HostRead final : public HostAccess {
 public:
  HostRead(std::shared_ptr<Buffer> buffer, absl::Span<std::byte> memory);
  // The bytes. Pre: before() has passed, and went well: else it has the error that made them.
  absl::Span<const std::byte> memory() const { return memory_; }
};

}  // namespace kiln::runtime
