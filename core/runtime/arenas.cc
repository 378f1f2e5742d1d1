#include "core/runtime/arenas.h"

#include "core/dtype/status.h"

namespace kiln::runtime {

absl::StatusOr<std::shared_ptr<Buffer>> SubmitState::Arena(Device& device, int64_t bytes) {
  std::shared_ptr<Buffer>& arena = arenas_[&device];
  if (arena == nullptr || arena->bytes() < bytes) {
    KILN_ASSIGN_OR_RETURN(arena, device.memory().Allocate(bytes, BufferUse::kDevice),
                          _ << "for temporaries on " << device.name());
  }
  return arena;
}

}  // namespace kiln::runtime
