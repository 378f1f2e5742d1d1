// Copies as work of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/runtime/buffer.h"
#include "core/runtime/submit_state.h"

namespace kiln::runtime {

// Bytes of the host that somebody keeps until they are read.
struct HostBytes {
  absl::Span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // Null: they outlive the copy.
};

struct CopyOptions {
  // As RunArgs::run_here_if_idle: worth it for some 100 KB at most.
  bool run_here_if_idle = false;
};

// Contents of a buffer, on their way.
struct CopyOutResult {
  std::shared_ptr<Buffer> staging;  // Host-visible.
  int64_t bytes = 0;
  Dependency done;  // When and whether the bytes are there.

  absl::Span<const std::byte> data() const { return {staging->host(), static_cast<size_t>(bytes)}; }
};

// All of them check ranges (InvalidArgument, nothing is queued), record hazards, keep the buffers
// until they are done, and never block. If what is read has failed, that is how the copy goes. An
// overwrite of a whole buffer heals it, one of a part goes well but leaves the rest as it was.
absl::StatusOr<Dependency> CopyIn(SubmitState& state, Stream& stream,
                                  const std::shared_ptr<Buffer>& to, int64_t offset, HostBytes from,
                                  CopyOptions options);
absl::StatusOr<CopyOutResult> CopyOut(SubmitState& state, Stream& stream,
                                      const std::shared_ptr<Buffer>& from, int64_t offset,
                                      int64_t bytes, CopyOptions options);
struct CopyEnd {
  const std::shared_ptr<Buffer>& buffer;
  int64_t offset = 0;
};
absl::StatusOr<Dependency> Copy(SubmitState& state, Stream& stream, CopyEnd to, CopyEnd from,
                                int64_t bytes, CopyOptions options);

// InvalidArgument if the range is not within the buffer.
absl::Status CheckRange(const Buffer& buffer, int64_t offset, int64_t bytes);

}  // namespace kiln::runtime
