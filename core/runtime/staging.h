// Copies between the host and memory that it does not see.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/runtime/buffer.h"

namespace kiln::runtime {

// Through a staging buffer and the copy queue of the device; both return when it is done. The
// caller has waited for hazards. CopyFromHost records its write. Pre: the range is within the
// buffer.
absl::Status CopyToHost(Buffer& buffer, int64_t offset, absl::Span<std::byte> to);
absl::Status CopyFromHost(Buffer& buffer, int64_t offset, absl::Span<const std::byte> from);

}  // namespace kiln::runtime
