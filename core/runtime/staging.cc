#include "core/runtime/staging.h"

#include <cstring>
#include <memory>
#include <utility>

#include "core/dtype/status.h"
#include "core/runtime/device.h"

namespace kiln::runtime {
namespace {

// Runs one copy and returns how it went.
Dependency Copy(Device& device, BufferSlice to, BufferSlice from) {
  auto list = std::make_shared<CommandList>();
  auto outcome = std::make_shared<Outcome>();
  list->Copy(to, from);
  const Point point = device.queue(QueueKind::kCopy).Submit({}, std::move(list), outcome);
  return {point, std::move(outcome)};
}

}  // namespace

absl::Status CopyToHost(Buffer& buffer, int64_t offset, absl::Span<std::byte> to) {
  if (to.empty()) return absl::OkStatus();
  const auto bytes = static_cast<int64_t>(to.size());
  Device& device = buffer.device();
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> staging,
                        device.memory().Allocate(bytes, BufferUse::kStaging));
  KILN_RETURN_IF_ERROR(Await(Copy(device, {staging.get(), 0, bytes}, {&buffer, offset, bytes})));
  std::memcpy(to.data(), staging->host(), to.size());
  return absl::OkStatus();
}

absl::Status CopyFromHost(Buffer& buffer, int64_t offset, absl::Span<const std::byte> from) {
  if (from.empty()) return absl::OkStatus();
  const auto bytes = static_cast<int64_t>(from.size());
  Device& device = buffer.device();
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Buffer> staging,
                        device.memory().Allocate(bytes, BufferUse::kStaging));
  std::memcpy(staging->host(), from.data(), from.size());
  const Dependency done = Copy(device, {&buffer, offset, bytes}, {staging.get(), 0, bytes});
  buffer.hazards().SetWrite(done, bytes >= buffer.bytes() ? Extent::kWhole : Extent::kPart);
  return Await(done);
}

}  // namespace kiln::runtime
